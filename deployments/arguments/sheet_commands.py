"""What the commands take that are given a sheet, or describe what one may hold."""

from __future__ import annotations

from argparse import ArgumentParser

BUDGET = "most credits the campaign may cost, over every run"
SELECT = "only these rows: r1,r2 or tag:launch,language:en|de or 'draft-*,!draft-7'"


def check(parser: ArgumentParser) -> None:
    """Give `callsheet check` its arguments."""
    _take_sheet(parser)


def plan(parser: ArgumentParser) -> None:
    """Give `callsheet plan` its arguments."""
    _take_sheet(parser)
    _take_terms(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="save the plan to FILE for `run --plan FILE`"
    )
    parser.add_argument(
        "--detailed-exitcode",
        action="store_true",
        help="exit 0: nothing to do, 1: error, 2: changes",
    )


def run(parser: ArgumentParser) -> None:
    """Give `callsheet run` its arguments."""
    _take_sheet(parser)
    _take_terms(parser)
    parser.add_argument("--yes", action="store_true", help="approve the plan without asking")
    parser.add_argument(
        "--plan", metavar="FILE", help="execute this saved plan exactly, or nothing"
    )
    parser.add_argument(
        "--wait",
        choices=("auto", "poll", "webhook"),
        default="auto",
        help="how to learn that a video is ready: webhooks if they work, polling, or webhooks only "
        "(default auto)",
    )
    parser.add_argument(
        "--max-wait",
        metavar="2h",
        help="stop waiting after this long and exit 5; run again to continue",
    )
    parser.add_argument("--run-budget", metavar="N", help="most credits this run may spend")
    parser.add_argument(
        "--at-limit",
        choices=("stop", "fit"),
        help="when the budget runs out: start no more rows (stop, the default), or only rows that "
        "still fit",
    )
    parser.add_argument(
        "--if-running",
        choices=("wait", "leave"),
        default="wait",
        help="if the campaign is already running: wait for the other run, or exit with status 5",
    )
    parser.add_argument(
        "--pay-again",
        action="store_true",
        help="make rows that another ledger may have paid for already",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        help="number of workers to split the campaign across, in a Prefect work pool; needs a "
        "PostgreSQL ledger",
    )
    parser.add_argument(
        "--without-prefect", action="store_true", help="run the same steps without Prefect"
    )


def tools(parser: ArgumentParser) -> None:
    """Give `callsheet tools` its arguments."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="show one tool; or list `characters` or `templates`"
    )
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="ask the service again instead of using the stored list",
    )
    parser.add_argument(
        "--sandbox", action="store_true", help="list the tools of the local sandbox"
    )


def schema(parser: ArgumentParser) -> None:
    """Give `callsheet schema` its arguments."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of stdout")


def _take_sheet(parser: ArgumentParser) -> None:
    """Take a sheet, and how it is to be read and understood."""
    parser.add_argument(
        "sheet",
        metavar="SHEET",
        help="a file, an https:// or s3:// address, or - for standard input",
    )
    parser.add_argument(
        "--campaign", metavar="NAME", help="campaign name (default: the sheet's name)"
    )
    parser.add_argument(
        "--delimiter", metavar="CHAR", help="character that separates the cells of a CSV"
    )
    parser.add_argument("--worksheet", metavar="NAME", help="worksheet to read from an XLSX")
    parser.add_argument(
        "--new-campaign",
        action="store_true",
        help="make videos again even if another campaign already paid for them",
    )
    parser.add_argument(
        "--same-campaign",
        action="store_true",
        help="continue the campaign with this sheet, although it comes from another place",
    )
    parser.add_argument(
        "--retire",
        action="store_true",
        help="retire rows that left the sheet without asking (asks when more than a tenth left)",
    )
    hidden = parser.add_mutually_exclusive_group()
    for option, value, words in (
        ("--visible-only", "skip", "skip rows that the XLSX hides or filters out"),
        ("--include-hidden", "read", "read hidden rows like all others"),
    ):
        hidden.add_argument(
            option, dest="hidden_rows", action="store_const", const=value, help=words
        )


def _take_terms(parser: ArgumentParser) -> None:
    """Take which rows are meant, what they may cost, and whose videos they are."""
    parser.add_argument("--budget", metavar="N", help=BUDGET)
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument(
        "--sandbox", action="store_true", help="use the local sandbox; nothing is charged"
    )
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: render X times faster")
