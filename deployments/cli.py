"""`callsheet`: the command line.

Owns the words a person types and how errors are told. Every command lives in a file of its own
under `commands/` and is imported only when it is called, so that help answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from deployments.direct.video_words import add_video_verbs
from deployments.direct.webhook_words import add_webhook_verbs

if TYPE_CHECKING:
    from tasks.errors import CallsheetError

EPILOG = """\
exit status:
  0  everything delivered, or nothing to do     3  finished, some rows need a person
  1  a fault in Callsheet                       4  refused to spend (budget, approval)
  2  bad input: nothing was spent               5  parked until a later moment: run it again
"""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its exit status."""
    args = build_parser().parse_args(argv)
    sys.exit(carry_out(args))


def carry_out(args: argparse.Namespace) -> int:
    """Run the command that was parsed; every error becomes a sentence and an exit status."""
    from tasks.errors import CallsheetError

    try:
        command = importlib.import_module(f"deployments.commands.{args.command}")
        status: int = command.main(args)
        return status
    except CallsheetError as error:
        _tell(error, args)
        return error.exit_status
    except KeyboardInterrupt:
        print("stopped; run the same command again to go on", file=sys.stderr)
        return 5
    except BrokenPipeError:
        # Whoever read our output has enough of it (`callsheet rows | head`).
        sys.stderr.close()
        return 0
    except Exception as error:
        if args.verbose:
            raise
        from tasks.redact import redact

        print(
            f"callsheet: a fault in Callsheet: {redact(str(error) or repr(error))}\n"
            "  What was paid for is in the ledger (`callsheet status`). Run again with -v to see "
            "where it happened.",
            file=sys.stderr,
        )
        return 1


def _tell(error: CallsheetError, args: argparse.Namespace) -> None:
    from tasks.errors import Parked, SheetError
    from tasks.redact import redact

    problems = [redact(str(p)) for p in error.problems] if isinstance(error, SheetError) else []
    for problem in problems:
        if problem not in str(error):
            print(problem, file=sys.stderr)
    words = redact(str(error))
    if error.exit_status in (2, 4) and "nothing was spent" not in words:
        words += "; nothing was spent"
    print(f"callsheet: {words}", file=sys.stderr)
    if isinstance(error, Parked):
        print(f"  not before {error.until:%Y-%m-%d %H:%M:%S} UTC", file=sys.stderr)
    if error.remedy:
        print(f"  {redact(error.remedy)}", file=sys.stderr)
    if getattr(args, "json", False):
        document: dict[str, object] = {"error": words, "exit": error.exit_status}
        if problems:
            document["problems"] = problems
        if isinstance(error, Parked):
            document["not_before"] = f"{error.until:%Y-%m-%dT%H:%M:%SZ}"
        print(json.dumps(document, ensure_ascii=False))
    if args.verbose:
        import traceback

        print(redact("".join(traceback.format_exception(error))), file=sys.stderr)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="callsheet",
        description="A campaign sheet becomes finished films: quoted before a credit is spent, "
        "never paid for twice, delivered with proof.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="say it and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, words: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        made.add_argument("--json", action="store_true", help="one JSON document on stdout")
        made.add_argument("--profile", metavar="NAME", help="settings from a TOML profile")
        made.add_argument("-v", "--verbose", action="store_true", help="say more")
        return made

    _sheet_commands(command)
    _ledger_commands(command)
    add_video_verbs(command("video", "every operation on videos, directly"))
    add_webhook_verbs(command("webhooks", "every operation on webhook subscriptions, directly"))
    _login_commands(command)
    _sandbox_command(command)
    return parser


Command = Callable[[str, str], argparse.ArgumentParser]


def _sheet_commands(command: Command) -> None:
    check = command("check", "every problem of a sheet at once; contacts nobody")
    plan = command("plan", "what would happen to each row and its price; spends nothing")
    run = command("run", "plan, ask once, produce, report")
    for parser in (check, plan, run):
        parser.add_argument("sheet", metavar="SHEET", help="a path, - , https:// or s3:// address")
        parser.add_argument("--campaign", metavar="NAME", help="instead of the sheet's own name")
        parser.add_argument("--delimiter", metavar="CHAR", help="what separates the cells of a CSV")
        parser.add_argument("--worksheet", metavar="NAME", help="which worksheet of an XLSX")
    for parser in (plan, run):
        parser.add_argument("--budget", metavar="N", help="credits the campaign may cost in all")
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
        "--wait", choices=("auto", "poll", "webhook"), default="auto", help="how to learn of films"
    )
    run.add_argument("--max-wait", metavar="2h", help="park the run after this long")
    run.add_argument("--without-prefect", action="store_true", help="the same steps, no Prefect")


def _ledger_commands(command: Command) -> None:
    status = command("status", "campaigns, or one of them: rows by state, credits")
    status.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    rows = command("rows", "a line for every row: state, credits, where its film is")
    rows.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
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


def _login_commands(command: Command) -> None:
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


def _sandbox_command(command: Command) -> None:
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


class _ShowVersion(argparse.Action):
    """Print the version; looking it up costs time that no other command should pay."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"callsheet {version('callsheet')}")
        parser.exit()


if __name__ == "__main__":
    main()
