"""The sandbox from the command line: `python -m callsheet.deployments.sandbox`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from callsheet.deployments.sandbox.options import OptionRefused, Options


def main(words: Sequence[str] | None = None) -> int:
    """Read the options and serve."""
    try:
        options = Options(**vars(_parser().parse_args(words)))
    except OptionRefused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    # Only now: the web framework takes most of a second to import.
    from callsheet.deployments.sandbox.serve import serve

    return serve(options)


def _parser() -> argparse.ArgumentParser:
    """Make the parser of the options that there are; they say themselves what is wrong with one."""
    parser = argparse.ArgumentParser(
        prog="sandbox",
        description="The video service on a laptop.",
        argument_default=argparse.SUPPRESS,
    )
    for name, field in Options.model_fields.items():
        name, about = field.alias or name, field.description or argparse.SUPPRESS
        action = "store_true" if field.annotation is bool else "store"
        parser.add_argument(f"--{name.replace('_', '-')}", action=action, help=about)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
