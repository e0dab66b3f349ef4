"""What the commands take that are given a sheet, or describe what one may hold."""

from __future__ import annotations

from argparse import ArgumentParser

BUDGET = "credits the campaign may cost in its whole life, over every run"
SELECT = "only these rows, such as r1,r2 or tag:launch,language:en|de or 'draft-*,!draft-7'"


def check(parser: ArgumentParser) -> None:
    """Give `callsheet check` its arguments."""
    _take_sheet(parser)


def plan(parser: ArgumentParser) -> None:
    """Give `callsheet plan` its arguments."""
    _take_sheet(parser)
    _take_terms(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the plan for `run --plan`")
    parser.add_argument(
        "--detailed-exitcode", action="store_true", help="0 nothing to do, 1 error, 2 changes"
    )


def run(parser: ArgumentParser) -> None:
    """Give `callsheet run` its arguments."""
    _take_sheet(parser)
    _take_terms(parser)
    parser.add_argument("--yes", action="store_true", help="approve the plan without being asked")
    parser.add_argument("--plan", metavar="FILE", help="do what this saved plan says, or nothing")
    parser.add_argument(
        "--wait",
        choices=("auto", "poll", "webhook"),
        default="auto",
        help="how videos are found: by webhooks where they come through, by looking, or not "
        "without webhooks",
    )
    parser.add_argument("--max-wait", metavar="2h", help="park the run after this long")
    parser.add_argument("--run-budget", metavar="N", help="credits this run alone may set aside")
    parser.add_argument(
        "--at-limit",
        choices=("stop", "fit"),
        help="at the end of a budget begin nothing more, or what still fits; stop unless given, "
        "but a plan beyond --budget is refused whole",
    )
    parser.add_argument(
        "--if-running",
        choices=("wait", "leave"),
        default="wait",
        help="while another run has the campaign: wait for it, or leave with exit 5",
    )
    parser.add_argument(
        "--pay-again",
        action="store_true",
        help="pay again for rows that another ledger may have paid for",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=int,
        help="so many crews carry it, on the machines of a Prefect work pool; needs a PostgreSQL "
        "ledger",
    )
    parser.add_argument("--without-prefect", action="store_true", help="the same steps, no Prefect")


def tools(parser: ArgumentParser) -> None:
    """Give `callsheet tools` its arguments."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="a tool; or characters, templates: other lists"
    )
    parser.add_argument(
        "--refresh", action="store_true", help="ask the service, however lately it told"
    )
    parser.add_argument("--sandbox", action="store_true", help="what a sandbox of our own offers")


def schema(parser: ArgumentParser) -> None:
    """Give `callsheet schema` its arguments."""
    parser.add_argument("-o", "--output", metavar="FILE", help="written whole or not at all")


def _take_sheet(parser: ArgumentParser) -> None:
    """Take a sheet, and how it is to be read and understood."""
    parser.add_argument("sheet", metavar="SHEET", help="a path, - , https:// or s3:// address")
    parser.add_argument("--campaign", metavar="NAME", help="instead of the sheet's own name")
    parser.add_argument("--delimiter", metavar="CHAR", help="what separates the cells of a CSV")
    parser.add_argument("--worksheet", metavar="NAME", help="which worksheet of an XLSX")
    parser.add_argument(
        "--new-campaign",
        action="store_true",
        help="make videos again that another campaign has paid for",
    )
    parser.add_argument(
        "--same-campaign",
        action="store_true",
        help="the campaign goes on with this sheet, though it comes from elsewhere and differs",
    )
    parser.add_argument(
        "--retire",
        action="store_true",
        help="retire rows that left the sheet, however many (without, more than a tenth asks)",
    )
    hidden = parser.add_mutually_exclusive_group()
    for option, value, words in (
        ("--visible-only", "skip", "leave out the rows that an XLSX hides or filters out"),
        ("--include-hidden", "read", "read them as all others"),
    ):
        hidden.add_argument(
            option, dest="hidden_rows", action="store_const", const=value, help=words
        )


def _take_terms(parser: ArgumentParser) -> None:
    """Take which rows are meant, what they may cost, and whose videos they are."""
    parser.add_argument("--budget", metavar="N", help=BUDGET)
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument("--sandbox", action="store_true", help="against a service of our own")
    parser.add_argument("--time-scale", metavar="X", help="with --sandbox: X times faster")
