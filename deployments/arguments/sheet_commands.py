"""Arguments of the commands that read a sheet, or a plan of one."""

from __future__ import annotations

from argparse import ArgumentParser

BUDGET = "most credits the campaign may cost, over every run"
SELECT = "only these rows: r1,r2 or tag:launch,language:en|de or 'draft-*,!draft-7'"


#: The options of `callsheet plan` and `run` that people use first.
FIRST = frozenset(
    {"help", "json", "budget", "select", "first", "canary", "sandbox"}
    | {"yes", "plan", "max_wait", "output", "all", "refresh"}
)


def check(parser: ArgumentParser) -> None:
    """Give `callsheet check` its arguments."""
    _take_sheet(parser)


def plan(parser: ArgumentParser) -> None:
    """Give `callsheet plan` its arguments."""
    parser.first = FIRST  # type: ignore[attr-defined]
    _take_sheet(parser)
    _take_terms(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="save the plan for `run --plan FILE`: as a page to send around (FILE.html), else as "
        "JSON",
    )
    _take_all(parser)
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="also look for videos and files that changed outside since they were delivered",
    )
    _take_repair(parser)
    parser.add_argument(
        "--detailed-exitcode",
        action="store_true",
        help="exit 0: nothing to do, 1: error, 2: changes",
    )


def show_plan(parser: ArgumentParser) -> None:
    """Give `callsheet show-plan` its arguments."""
    parser.add_argument("file", metavar="FILE", help="a plan that `plan -o FILE` saved")
    _take_all(parser)


def run(parser: ArgumentParser) -> None:
    """Give `callsheet run` its arguments."""
    parser.first = FIRST  # type: ignore[attr-defined]
    _take_sheet(parser, nargs="?")
    _take_terms(parser)
    parser.add_argument("--yes", action="store_true", help="approve the plan without asking")
    parser.add_argument(
        "--plan",
        metavar="FILE",
        help="execute this saved plan exactly, or nothing; it knows its sheet and its options",
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
    _take_repair(parser)
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
        "--prune",
        action="store_true",
        help="afterwards, delete videos at the service that are not needed there; asks first",
    )
    take_deletions(parser)
    parser.add_argument(
        "--without-prefect", action="store_true", help="do not show the run in Prefect"
    )


def adopt(parser: ArgumentParser) -> None:
    """Give `callsheet adopt` its arguments."""
    _take_sheet(parser)
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument("--yes", action="store_true", help="take over what was found, do not ask")
    parser.add_argument(
        "--max-wait",
        metavar="2h",
        help="stop waiting after this long and exit 5; run again to continue",
    )
    _take_service(parser)


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


def _take_sheet(parser: ArgumentParser, nargs: str | None = None) -> None:
    """Take a sheet, and how it is to be read and understood."""
    parser.add_argument(
        "sheet",
        nargs=nargs,
        metavar="SHEET",
        help="a file, an https:// or s3:// address, or - for standard input",
    )
    parser.add_argument(
        "--campaign", metavar="NAME", help="campaign name (default: the sheet's name)"
    )
    parser.add_argument(
        "--map",
        action="append",
        metavar="NAME=COLUMN",
        help='read a header of your sheet as this column, such as "Headline=title" (check stores '
        "it in columns.toml next to the sheet); repeatable",
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
    parser.add_argument(
        "--yes-many", action="store_true", help="accept a matrix of more than 10,000 videos"
    )
    hidden = parser.add_mutually_exclusive_group()
    for option, value, words in (
        ("--visible-only", "skip", "skip rows that the XLSX hides or filters out"),
        ("--include-hidden", "read", "read hidden rows like all others"),
    ):
        hidden.add_argument(
            option, dest="hidden_rows", action="store_const", const=value, help=words
        )


def _take_all(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="show every row (default: the first 40)")


def _take_terms(parser: ArgumentParser) -> None:
    """Take which rows are meant, what they may cost, and whose videos they are."""
    parser.add_argument("--budget", metavar="N", help=BUDGET)
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument("--first", metavar="N", help="process only the first N rows of the sheet")
    parser.add_argument(
        "--canary",
        nargs="?",
        const="yes",
        choices=("yes", "auto", "no"),
        help="make one video of each kind first; the others wait until you keep it (auto: until "
        "its checks pass)",
    )
    take_waves(parser)
    parser.add_argument(
        "--edits",
        choices=("cheapest", "retake"),
        help="what a changed row gets: an edit of its video if that is enough (default), or "
        "always a new video",
    )
    parser.add_argument(
        "--retry-failed",
        metavar="N",
        help="make up to N new attempts of each row whose render fails, within its max_credits "
        "and the budget",
    )
    _take_service(parser)


def _take_repair(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--repair",
        action="store_true",
        help="fix what changed outside if that is free: download files again, correct charges, "
        "write the status sheet again",
    )


def _take_service(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sandbox", action="store_true", help="use the local sandbox; nothing is charged"
    )
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: render X times faster")


def take_waves(parser: ArgumentParser) -> None:
    """Take in which parts the rows are made."""
    parser.add_argument(
        "--waves",
        metavar="PARTS",
        help="make parts of the rows first, like 10%%,50%%; each part waits until you keep the "
        "videos of the one before (no: all at once)",
    )


def take_deletions(parser: ArgumentParser) -> None:
    """Take what of rows that left the sheet is deleted, too."""
    parser.add_argument(
        "--undelivered",
        action="store_true",
        help="for rows that left the sheet: also delete paid videos that are not in the store",
    )
    parser.add_argument(
        "--prune-store",
        action="store_true",
        help="also delete the files in the store of rows that left the sheet",
    )
