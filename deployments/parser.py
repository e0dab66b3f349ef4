"""The commands and options that a person may type, but for those of the direct ones.

Imports little: help has to answer at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

from deployments.direct.arguments import add_video_verbs, add_webhook_verbs

EPILOG = """\
to try a sheet of your own, on this machine and at no cost:
  callsheet check SHEET             every problem of it, each with its cell
  callsheet run SHEET --sandbox     films of it, by a service of our own

exit status:
  0  everything delivered, or nothing to do     3  finished, some rows need a person
  1  a fault in Callsheet                       4  refused to spend (budget, approval)
  2  bad input: nothing was spent               5  parked until a later moment: run it again
"""

BUDGET = "credits the campaign may cost in its whole life, over every run"
SANDBOX = "for what was made with --sandbox: against the same service of our own"
#: Makes the parser of a command from its name and what it does.
Command = Callable[[str, str], argparse.ArgumentParser]


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(
        prog="callsheet",
        description="A campaign sheet becomes finished films: quoted before a credit is spent, "
        "never paid for twice, delivered with proof.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="say it and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, words: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words, description=_sentence(words))
        made.add_argument("--json", action="store_true", help="one JSON document on stdout")
        made.add_argument("--profile", metavar="NAME", help="settings from a TOML profile")
        made.add_argument("-v", "--verbose", action="store_true", help="say more")
        return made

    _add_sheet_commands(command)
    _add_ledger_commands(command)
    _add_people_commands(command)
    add_video_verbs(command("video", "every operation on videos, directly"))
    add_webhook_verbs(command("webhooks", "every operation on webhook subscriptions, directly"))
    _add_login_commands(command)
    _add_receiver_command(command)
    _add_sandbox_command(command)
    return parser


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what was typed; raise BadInput where it cannot be meant."""
    parser = build_parser()
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        command = _verbs(parser)[args.command]
        verb = _verbs(command).get(getattr(args, "verb", ""), command)
        verb.error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands, or of a command's verbs."""
    return {
        name: of
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, of in action.choices.items()
    }


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}" + ("" if words.endswith("?") else ".")


class _Parser(argparse.ArgumentParser):
    """Raises BadInput where argparse would print its usage and leave."""

    def error(self, message: str) -> NoReturn:
        from deployments.misunderstood import misunderstood

        raise misunderstood(self, message)


class _ShowVersion(argparse.Action):
    """Print the version; looking it up costs time that no other command should pay."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"callsheet {version('callsheet')}")
        parser.exit()


def _add_sheet_commands(command: Command) -> None:
    """Add what takes a sheet or describes one: check, plan, run, tools, schema."""
    check = command("check", "every problem of a sheet at once; contacts nobody")
    plan = command("plan", "what would happen to each row and its price; spends nothing")
    run = command("run", "plan, ask once, produce, report")
    for parser in (check, plan, run):
        parser.add_argument("sheet", metavar="SHEET", help="a path, - , https:// or s3:// address")
        parser.add_argument("--campaign", metavar="NAME", help="instead of the sheet's own name")
        parser.add_argument("--delimiter", metavar="CHAR", help="what separates the cells of a CSV")
        parser.add_argument("--worksheet", metavar="NAME", help="which worksheet of an XLSX")
        parser.add_argument(
            "--new-campaign", action="store_true",
            help="make films again that another campaign has paid for",
        )  # fmt: skip
        parser.add_argument(
            "--same-campaign", action="store_true",
            help="the campaign goes on with this sheet, though it comes from elsewhere and differs",
        )  # fmt: skip
        parser.add_argument(
            "--retire", action="store_true",
            help="retire rows that left the sheet, however many (without, more than a tenth asks)",
        )  # fmt: skip
        hidden = parser.add_mutually_exclusive_group()
        for option, value, words in (
            ("--visible-only", "skip", "leave out the rows that an XLSX hides or filters out"),
            ("--include-hidden", "read", "read them as all others"),
        ):
            hidden.add_argument(
                option, dest="hidden_rows", action="store_const", const=value, help=words
            )
    for parser in (plan, run):
        parser.add_argument(
            "--budget",
            metavar="N",
            help=BUDGET,
        )
        parser.add_argument(
            "--select", metavar="EXPR", help="only these rows: tag:x,language:en|de"
        )
        parser.add_argument("--sandbox", action="store_true", help="against a service of our own")
        parser.add_argument("--time-scale", metavar="X", help="with --sandbox: X times faster")
    plan.add_argument("-o", "--output", metavar="FILE", help="save the plan for `run --plan`")
    plan.add_argument(
        "--detailed-exitcode", action="store_true", help="0 nothing to do, 1 error, 2 changes"
    )
    run.add_argument("--yes", action="store_true", help="approve the plan without being asked")
    run.add_argument("--plan", metavar="FILE", help="do what this saved plan says, or nothing")
    run.add_argument(
        "--wait",
        choices=("auto", "poll", "webhook"),
        default="auto",
        help="how films are found: by webhooks where they come through, by looking, or not "
        "without webhooks",
    )
    run.add_argument("--max-wait", metavar="2h", help="park the run after this long")
    run.add_argument("--run-budget", metavar="N", help="credits this run alone may set aside")
    run.add_argument(
        "--at-limit", choices=("stop", "fit"),
        help="at the end of a budget begin nothing more, or what still fits; stop unless given, "
        "but a plan beyond --budget is refused whole",
    )  # fmt: skip
    run.add_argument(
        "--if-running", choices=("wait", "leave"), default="wait",
        help="while another run has the campaign: wait for it, or leave with exit 5",
    )  # fmt: skip
    run.add_argument(
        "--pay-again",
        action="store_true",
        help="make films that a lost ledger may have paid for, too long ago for their keys",
    )
    run.add_argument("--without-prefect", action="store_true", help="the same steps, no Prefect")
    tools = command("tools", "what the service's tools take, and a row to begin with")
    tools.add_argument(
        "name", metavar="NAME", nargs="?", help="a tool; or characters, templates: other lists"
    )
    tools.add_argument(
        "--refresh", action="store_true", help="ask the service, however lately it told"
    )
    tools.add_argument("--sandbox", action="store_true", help="what a sandbox of our own offers")
    schema = command("schema", "the JSON Schema of YAML and JSON sheets, for your editor")
    schema.add_argument("-o", "--output", metavar="FILE", help="written whole or not at all")


def _add_ledger_commands(command: Command) -> None:
    """Add what reads the ledger, or settles a row in it."""
    status = command("status", "campaigns, or one of them: rows by state, credits")
    status.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    status.add_argument(
        "--accounts", action="store_true", help="every day, cost center and run that has an account"
    )
    rows = command("rows", "a line for every row: state, credits, where its film is")
    rows.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    rows.add_argument(
        "--state",
        action="append",
        metavar="STATE",
        help="only rows in it: failed (may be repeated)",
    )
    rows.add_argument("--select", metavar="EXPR", help="only these rows: state:held, tag:x")
    explain = command("explain", "everything that is known of one row, and why")
    explain.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    explain.add_argument("row", metavar="ROW")
    resolve = command("resolve", "settle a paid call whose outcome nobody knows")
    resolve.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    resolve.add_argument("row", metavar="ROW", nargs="?")
    resolve.add_argument("--call", type=int, metavar="N", help="a call typed by hand, by number")
    resolve.add_argument("--adopt", metavar="ID", help="this video is what it made")
    resolve.add_argument("--resend", action="store_true", help="give it up; make another take")
    resolve.add_argument("--abandon", action="store_true", help="give it up; cancel the row")
    resolve.add_argument(
        "--charged", metavar="N", help="credits it cost, if you know; else all that was set aside"
    )
    resolve.add_argument("--sandbox", action="store_true", help=SANDBOX)
    _add_proofs(command)


def _add_proofs(command: Command) -> None:
    """Add what compares the ledger with the store or the service, or writes it out."""
    verify = command("verify", "is every delivery still in the store, and intact?")
    verify.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    verify.add_argument("--select", metavar="EXPR", help="only these rows: tag:x,language:en|de")
    verify.add_argument("--quick", action="store_true", help="compare sizes; read nothing")
    verify.add_argument(
        "--repair", action="store_true", help="fetch again what is missing or damaged, free"
    )
    reconcile = command("reconcile", "compare the ledger with what the service says")
    reconcile.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    reconcile.add_argument("--sheet", metavar="SHEET", help="look for films of this sheet, too")
    reconcile.add_argument(
        "--apply", action="store_true", help="set right what is free and certain"
    )
    for parser in (verify, reconcile):
        parser.add_argument("--sandbox", action="store_true", help=SANDBOX)
    export = command("export", "rows, takes, events or costs, for spreadsheets and programs")
    export.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    export.add_argument(
        "--what", choices=("rows", "takes", "events", "chargeback", "analysis"), default="rows",
        help="rows unless given; chargeback: credits by cost centre, tag and month; analysis: "
        "credits, keep rate and minutes by tool, language, ratio and month",
    )  # fmt: skip
    export.add_argument(
        "--format", choices=("csv", "xlsx", "parquet", "jsonl"), help="csv unless FILE says another"
    )
    export.add_argument("-o", "--output", metavar="FILE", help="written whole or not at all")


def _add_people_commands(command: Command) -> None:
    """Add what a person decides about rows: another take, or none."""
    retake = command("retake", "another take of rows: a new film at a price that is asked about")
    cancel = command("cancel", "cancel rows or a whole campaign, also while a run is at work")
    for parser in (retake, cancel):
        parser.add_argument(
            "words", metavar="ROW", nargs="*", help="rows; first the campaign, unless the newest"
        )
        parser.add_argument("--select", metavar="EXPR", help="only these rows: state:failed, tag:x")
        parser.add_argument("--yes", action="store_true", help="go on without being asked")
    for parser in (retake, cancel):
        parser.add_argument("--sandbox", action="store_true", help=SANDBOX)
    retake.add_argument("--because", metavar="TEXT", help="why, for the row's history")
    retake.add_argument(
        "--budget",
        metavar="N",
        help=BUDGET,
    )
    retake.add_argument(
        "--run",
        action="store_true",
        help="make them now; else the next run of the sheet does",
    )
    retake.add_argument("--max-wait", metavar="2h", help="with --run: park after this long")


def _add_login_commands(command: Command) -> None:
    """Add what gets a key, drops it, or says which it is."""
    login = command("login", "get a key for the service and keep it")
    way = login.add_mutually_exclusive_group()
    way.add_argument("--browser", action="store_true", help="approve in a browser on this machine")
    way.add_argument("--device", action="store_true", help="enter a code in a browser anywhere")
    way.add_argument("--email", metavar="ADDRESS", help="have this person approve it, within a day")
    way.add_argument("--with-token", action="store_true", help="read a key from standard input")
    login.add_argument("--scopes", metavar="LIST", help="what to ask for; default read,write,ai")
    kept = login.add_mutually_exclusive_group()
    kept.add_argument("--no-store", action="store_true", help="try it and revoke the key again")
    kept.add_argument("--token-file", metavar="FILE", help="write the key there, keep it nowhere")
    logout = command("logout", "revoke the key that login got, and forget it")
    logout.add_argument("--revoke", action="store_true", help="a key of --with-token, too")
    command("whoami", "which key is in force, where it comes from, what it may do")


def _add_receiver_command(command: Command) -> None:
    """Add the receiver of webhooks."""
    command("receive", "hear webhooks until stopped: hints where to look, never believed")


def _add_sandbox_command(command: Command) -> None:
    """Add the sandbox."""
    sandbox = command("sandbox", "run the whole video service on this machine")
    sandbox.add_argument("--port", type=int, default=8791, help="8791; 0 takes a free one")
    sandbox.add_argument("--state", metavar="DIR", help="default .callsheet/sandbox")
    sandbox.add_argument("--time-scale", metavar="X", help="X times faster")
    sandbox.add_argument("--credits", type=int, metavar="N", help="the balance of a new sandbox")
    sandbox.add_argument("--rate", type=int, metavar="N", help="paid calls a minute before 429")
    sandbox.add_argument("--spend-limit", type=int, metavar="N", help="credits a minute before 429")
    sandbox.add_argument(
        "--retry-after", choices=("seconds", "date", "turns"), default="turns",
        help="how a 429 says when to come back; default both by turns",
    )  # fmt: skip
    sandbox.add_argument(
        "--render", choices=("real", "instant"), default="real", help="instant: one film for all"
    )
    sandbox.add_argument(
        "--allow-loopback-webhooks", action="store_true", help="for tests on one machine"
    )
    sandbox.add_argument(
        "--answers", choices=("enveloped", "bare", "renamed"), default="enveloped",
        help="the shape of its answers, where the specification is silent",
    )  # fmt: skip
    sandbox.add_argument("--script", metavar="FILE", help="what is to go wrong, in TOML or JSON")
    sandbox.add_argument(
        "--webhook-vendor", metavar="NAME", default="Service", help="X-NAME-Signature and so on"
    )
