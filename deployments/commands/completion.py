"""`callsheet completion`: the script by which a shell completes commands."""

from __future__ import annotations

from argparse import Namespace

from argcomplete.shell_integration import shellcode

from callsheet.deployments.terminal import print_json
from callsheet.tasks.runtime.redact import visible


def main(args: Namespace) -> int:
    """Print the script for a shell; return 0."""
    script = shellcode(["callsheet"], shell=args.shell)
    if args.shell == "zsh":
        # A shell that has not set its completion up yet has none to add to.
        script = f"(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}\n{script}"
    if args.json:
        print_json({"shell": args.shell, "script": script, "exit": 0})
    else:
        print(visible(script))
    return 0
