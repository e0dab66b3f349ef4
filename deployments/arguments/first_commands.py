"""Arguments of the commands for the first minute: what you begin with, and look things up with."""

from __future__ import annotations

from argparse import ArgumentParser


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
