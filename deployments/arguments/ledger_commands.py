"""What the commands take that read a campaign in the ledger, prove it, or decide about its rows."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, _SubParsersAction

from callsheet.deployments.arguments.sheet_commands import BUDGET, SELECT

_SANDBOX = "for what was made with --sandbox: against the same service of our own"


def status(parser: ArgumentParser) -> None:
    """Give `callsheet status` its arguments."""
    _take_campaign(parser)
    parser.add_argument(
        "--accounts", action="store_true", help="every day, cost center and run that has an account"
    )


def rows(parser: ArgumentParser) -> None:
    """Give `callsheet rows` its arguments."""
    _take_campaign(parser)
    parser.add_argument(
        "--state",
        action="append",
        metavar="STATE",
        help="only rows in it: failed (may be repeated)",
    )
    parser.add_argument(
        "--review",
        choices=("kept", "rejected", "none"),
        help="only rows whose video somebody keeps, or rejected, or nobody has decided on",
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
    parser.add_argument("--call", type=int, metavar="N", help="a call typed by hand, by number")
    parser.add_argument("--adopt", metavar="ID", help="this video is what it made")
    parser.add_argument("--resend", action="store_true", help="give it up; make another take")
    parser.add_argument("--abandon", action="store_true", help="give it up; cancel the row")
    parser.add_argument(
        "--charged", metavar="N", help="credits it cost, if you know; else all that was set aside"
    )
    _take_sandbox(parser)


def contact_sheet(parser: ArgumentParser) -> None:
    """Give `callsheet contact-sheet` its arguments."""
    _take_campaign(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="FILE.html or .jpg")
    parser.add_argument("--select", metavar="EXPR", help=SELECT)


def verify(parser: ArgumentParser) -> None:
    """Give `callsheet verify` its arguments."""
    _take_campaign(parser)
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument("--quick", action="store_true", help="compare sizes; read nothing")
    parser.add_argument(
        "--repair", action="store_true", help="fetch again what is missing or damaged, free"
    )
    _take_sandbox(parser)


def reconcile(parser: ArgumentParser) -> None:
    """Give `callsheet reconcile` its arguments."""
    _take_campaign(parser)
    parser.add_argument("--sheet", metavar="SHEET", help="look for videos of this sheet, too")
    parser.add_argument("--apply", action="store_true", help="set right what is free and certain")
    _take_sandbox(parser)


def export(parser: ArgumentParser) -> None:
    """Give `callsheet export` its arguments."""
    _take_campaign(parser)
    parser.add_argument(
        "--what",
        choices=("rows", "takes", "events", "chargeback", "analysis"),
        default="rows",
        help="rows unless given; chargeback: credits by cost centre, tag and month; analysis: "
        "credits, keep rate and minutes by tool, language, ratio and month",
    )
    parser.add_argument(
        "--format", choices=("csv", "xlsx", "parquet", "jsonl"), help="csv unless FILE says another"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="written whole or not at all")


def review(parser: ArgumentParser) -> None:
    """Give `callsheet review` its arguments."""
    parser.add_argument(
        "words",
        metavar="CAMPAIGN ROW VERDICT",
        nargs="*",
        help="the campaign unless the newest, rows unless --select, and keep, reject or undo",
    )
    parser.add_argument(
        "--because",
        metavar="REASON",
        help="wording, picture, voice, captions, length, brand, other; or a few words of yours",
    )
    parser.add_argument("--note", metavar="TEXT", help="more, for whoever edits the brief")
    parser.add_argument("--take", type=int, metavar="N", help="of the row, unless its newest video")
    parser.add_argument("--select", metavar="EXPR", help=f"all undecided: {SELECT}")
    parser.add_argument("--by", metavar="NAME", help="who says so, unless you")
    parser.add_argument(
        "--instead-of", choices=("keep", "reject"), help="the verdict that stands, to replace it"
    )


def retake(parser: ArgumentParser) -> None:
    """Give `callsheet retake` its arguments."""
    _take_rows(parser)
    parser.add_argument(
        "--because",
        metavar="TEXT",
        help="the reason, for the row's history; the service gets the same brief again, without it",
    )
    parser.add_argument(
        "--even-kept", action="store_true", help="also rows named here whose video somebody keeps"
    )
    parser.add_argument("--budget", metavar="N", help=BUDGET)
    parser.add_argument(
        "--run",
        action="store_true",
        help="make them now; else the next run of the sheet does",
    )
    parser.add_argument("--max-wait", metavar="2h", help="with --run: park after this long")


def cancel(parser: ArgumentParser) -> None:
    """Give `callsheet cancel` its arguments."""
    _take_rows(parser)


def _take_campaign(parser: ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="CAMPAIGN", nargs="?")


def _take_rows(parser: ArgumentParser) -> None:
    """Take rows by name or by selection, and the answer to the question about them."""
    parser.add_argument(
        "words", metavar="ROW", nargs="*", help="rows; first the campaign, unless the newest"
    )
    parser.add_argument("--select", metavar="EXPR", help=SELECT)
    parser.add_argument("--yes", action="store_true", help="go on without being asked")
    _take_sandbox(parser)


def _take_sandbox(parser: ArgumentParser) -> None:
    parser.add_argument("--sandbox", action="store_true", help=_SANDBOX)


def ledger(parser: ArgumentParser) -> None:
    """Give `callsheet ledger` its verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    backup = _verb(verbs, "backup", "copy it into one file, while runs are at work")
    backup.add_argument("file", metavar="FILE", help="a new file, or a folder")
    restore = _verb(verbs, "restore", "make it what a backup says; also from SQLite to PostgreSQL")
    restore.add_argument("file", metavar="FILE", help="what `callsheet ledger backup FILE` made")
    restore.add_argument(
        "--instead", action="store_true", help="of the ledger that is there, which is kept beside"
    )
    _verb(verbs, "check", "is it whole, and does it add up? changes nothing")
    upgrade = _verb(verbs, "upgrade", "bring it to this Callsheet's schema, as every command does")
    upgrade.add_argument("--make", action="store_true", help="one, where there is none yet")
    upgrade.add_argument(
        "--anyway", action="store_true", help="while a run is at work, of the version before"
    )
    vacuum = _verb(verbs, "vacuum", "remove what nobody needs, and give its room back")
    vacuum.add_argument(
        "--forget-events", metavar="D", help="also the history before so long, as 400d, of "
        "rows that rest; what was paid stays",
    )  # fmt: skip
    vacuum.add_argument(
        "--anyway", action="store_true", help="while a run is at work, which waits meanwhile"
    )


def _verb(verbs: _SubParsersAction[ArgumentParser], name: str, words: str) -> ArgumentParser:
    made = verbs.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
    made.add_argument("--json", action="store_true", default=SUPPRESS, help="one JSON document")
    made.add_argument("--profile", metavar="NAME", default=SUPPRESS, help="settings of a profile")
    made.add_argument("-v", "--verbose", action="store_true", default=SUPPRESS, help="say more")
    return made
