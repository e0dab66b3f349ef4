"""Arguments of the commands for the first minute: what you begin with, and look things up with."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter

SETUP = """\
To have it in every new shell, type once:
  bash  echo 'eval "$(callsheet completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(callsheet completion zsh)"' >> ~/.zshrc
  fish  callsheet completion fish > ~/.config/fish/completions/callsheet.fish
"""


def init(parser: ArgumentParser) -> None:
    """Give `callsheet init` its arguments."""
    parser.add_argument(
        "sheet",
        metavar="SHEET",
        nargs="?",
        default="first-videos.yaml",
        help="sample sheet to write (default first-videos.yaml); FILE.csv for a spreadsheet",
    )
    parser.add_argument(
        "--sandbox", action="store_true", help="use the tools of the local sandbox; free"
    )
    parser.add_argument(
        "--yes", action="store_true", help="ask nothing: take the default answers, replace no file"
    )


def help(parser: ArgumentParser) -> None:
    """Give `callsheet help` its arguments."""
    parser.add_argument(
        "word", metavar="WORD", nargs="*", help="a word, or a kind of words such as `columns`"
    )


def completion(parser: ArgumentParser) -> None:
    """Give `callsheet completion` its arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that you use")
    parser.epilog = SETUP
    parser.formatter_class = RawDescriptionHelpFormatter
