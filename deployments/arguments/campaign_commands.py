"""Arguments of the commands that read a campaign in the ledger, or decide about its rows."""

from __future__ import annotations

from argparse import ArgumentParser

from callsheet.deployments.arguments.sheet_commands import BUDGET, SELECT, take_deletions
from callsheet.deployments.parser import add_verb

_SANDBOX = "for a campaign made with --sandbox: use the same local sandbox"


def status(parser: ArgumentParser) -> None:
    """Give `callsheet status` its arguments."""
    _take_campaign(parser)
    parser.add_argument(
        "--accounts", action="store_true", help="list spending by month, day, cost center and run"
    )


def rows(parser: ArgumentParser) -> None:
    """Give `callsheet rows` its arguments."""
    _take_campaign(parser)
    parser.add_argument(
        "--state",
        action="append",
        metavar="STATE",
        help="only rows in this state, such as failed; repeatable",
    )
    parser.add_argument(
        "--review",
        choices=("kept", "rejected", "none"),
        help="only rows whose video is kept, rejected, or not reviewed yet",
    )
    parser.add_argument("--select", metavar="EXPR", help=SELECT)


def explain(parser: ArgumentParser) -> None:
    """Give `callsheet explain` its arguments."""
    _take_campaign(parser)
    parser.add_argument("row", metavar="ROW")


def resolve(parser: ArgumentParser) -> None:
    """Give `callsheet resolve` its arguments."""
    _take_campaign(parser)
    parser.add_argument("row", metavar="ROW", nargs="?")
    parser.add_argument(
        "--call",
        type=int,
        metavar="N",
        help="number of a call that you made directly",
    )
    parser.add_argument("--adopt", metavar="ID", help="the call made this video")
    parser.add_argument(
        "--resend", action="store_true", help="give up this take and make a new one"
    )
    parser.add_argument(
        "--abandon", action="store_true", help="give up this take and cancel the row"
    )
    parser.add_argument(
        "--charged",
        metavar="N",
        help="credits it cost, if you know (default: all that was reserved)",
    )
    _take_sandbox(parser)


def contact_sheet(parser: ArgumentParser) -> None:
    """Give `callsheet contact-sheet` its arguments."""
    _take_campaign(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="FILE.html")
    parser.add_argument("--select", metavar="EXPR", help=SELECT)


def verify(parser: ArgumentParser) -> None:
    """Give `callsheet verify` its arguments."""
    _take_campaign(parser)
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument(
        "--quick", action="store_true", help="compare sizes only, do not read the files"
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="download missing or damaged files again, at no charge",
    )
    _take_sandbox(parser)


def reconcile(parser: ArgumentParser) -> None:
    """Give `callsheet reconcile` its arguments."""
    _take_campaign(parser)
    parser.add_argument("--sheet", metavar="SHEET", help="also look for videos of this sheet")
    parser.add_argument("--apply", action="store_true", help="fix what is certain and free to fix")
    _take_sandbox(parser)


def export(parser: ArgumentParser) -> None:
    """Give `callsheet export` its arguments."""
    _take_campaign(parser)
    parser.add_argument(
        "--what",
        choices=("rows", "takes", "events", "chargeback", "traffic"),
        default="rows",
        help="what to export (default rows); chargeback: credits by cost center, tag and month; "
        "traffic: ad names, files and click addresses for ad platforms",
    )
    parser.add_argument(
        "--format",
        choices=("csv", "xlsx", "parquet", "jsonl"),
        help="default: by the name of FILE, else csv",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of stdout")
    parser.add_argument(
        "--zip",
        metavar="FILE",
        help="instead, write all videos with captions and status sheet to FILE.zip (-: to stdout)",
    )
    parser.add_argument("--kept", action="store_true", help="with --zip: only videos that are kept")
    parser.add_argument("--select", metavar="EXPR", help=f"with --zip: {SELECT}")


#: What costs can be added up by, besides `x_` columns.
COSTS_BY = ("month", "campaign", "brand", "tag", "cost_center", "tool", "language", "person")


def costs(parser: ArgumentParser) -> None:
    """Give `callsheet costs` its arguments."""
    parser.add_argument(
        "--by",
        metavar="COLUMN",
        default="month",
        help=f"what to add up by (default month): {', '.join(COSTS_BY)}, or a column of your own "
        "such as x_client; brand: the column brand or x_brand; person: who approved",
    )
    parser.add_argument("--since", metavar="DAY", help="from this day or month on (UTC): 2026-11")
    parser.add_argument("--until", metavar="DAY", help="up to and including this day or month")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the lines to FILE as CSV (-: to stdout), or as FILE.xlsx, .jsonl or .parquet",
    )
    parser.add_argument(
        "--sandbox", action="store_true", help="the campaigns of the local sandbox instead"
    )


def review(parser: ArgumentParser) -> None:
    """Give `callsheet review` its arguments."""
    parser.add_argument(
        "words",
        metavar="CAMPAIGN ROW VERDICT",
        nargs="*",
        help="the campaign (default: the newest), rows (or --select), then keep, reject or undo",
    )
    parser.add_argument(
        "--because",
        metavar="REASON",
        help="wording, picture, voice, captions, length, brand, other, or your own words",
    )
    parser.add_argument("--note", metavar="TEXT", help="a note for the person who edits the brief")
    parser.add_argument(
        "--take", type=int, metavar="N", help="take to review (default: the newest)"
    )
    parser.add_argument("--select", metavar="EXPR", help=f"videos not reviewed yet, {SELECT}")
    parser.add_argument("--by", metavar="NAME", help="name of the reviewer (default: you)")
    parser.add_argument(
        "--instead-of", choices=("keep", "reject"), help="replace this existing verdict"
    )


def retake(parser: ArgumentParser) -> None:
    """Give `callsheet retake` its arguments."""
    _take_rows(parser)
    parser.add_argument(
        "--because",
        metavar="TEXT",
        help="reason, for the row's history; the service gets the same brief, without the reason",
    )
    parser.add_argument(
        "--even-kept", action="store_true", help="also retake rows named here whose video is kept"
    )
    _take_run(parser)


def approve(parser: ArgumentParser) -> None:
    """Give `callsheet approve` its arguments."""
    _take_campaign(parser)
    parser.add_argument("--yes", action="store_true", help="approve without asking")
    _take_run(parser)
    _take_sandbox(parser)


def cancel(parser: ArgumentParser) -> None:
    """Give `callsheet cancel` its arguments."""
    _take_rows(parser)


def prune(parser: ArgumentParser) -> None:
    """Give `callsheet prune` its arguments."""
    _take_campaign(parser)
    take_deletions(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    _take_sandbox(parser)


def _take_run(parser: ArgumentParser) -> None:
    """Take the budget of rows that are approved, and whether to make their videos now."""
    parser.add_argument("--budget", metavar="N", help=BUDGET)
    parser.add_argument(
        "--run",
        action="store_true",
        help="make the videos now (default: in the next run of the sheet)",
    )
    parser.add_argument(
        "--max-wait", metavar="2h", help="with --run: stop waiting after this long and exit 5"
    )


def _take_campaign(parser: ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN", nargs="?")


def _take_rows(parser: ArgumentParser) -> None:
    """Take rows by name or by selection, and the answer to the question about them."""
    parser.add_argument(
        "words", metavar="ROW", nargs="*", help="the campaign (default: the newest), then rows"
    )
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    _take_sandbox(parser)


def _take_sandbox(parser: ArgumentParser) -> None:
    parser.add_argument("--sandbox", action="store_true", help=_SANDBOX)


def ledger(parser: ArgumentParser) -> None:
    """Give `callsheet ledger` its verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    backup = add_verb(verbs, "backup", "copy the ledger into one file, even during runs")
    backup.add_argument("file", metavar="FILE", help="a new file, or an existing folder")
    restore = add_verb(
        verbs, "restore", "replace the ledger with a backup; also moves SQLite to PostgreSQL"
    )
    restore.add_argument(
        "file", metavar="FILE", help="file that `callsheet ledger backup FILE` made"
    )
    restore.add_argument(
        "--instead",
        action="store_true",
        help="replace the existing ledger; a copy of it is stored next to it",
    )
    add_verb(
        verbs, "check", "check that the ledger is intact and its accounts add up; changes nothing"
    )
    upgrade = add_verb(verbs, "upgrade", "upgrade the ledger to the schema of this version")
    upgrade.add_argument("--make", action="store_true", help="create the ledger if there is none")
    vacuum = add_verb(verbs, "vacuum", "delete data that is no longer needed and shrink the ledger")
    vacuum.add_argument(
        "--forget-events", metavar="D", help="also delete history older than D, such as 400d, "
        "of finished rows; payments stay",
    )  # fmt: skip
    vacuum.add_argument("--anyway", action="store_true", help="vacuum during a run; the run waits")
