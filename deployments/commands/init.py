"""`callsheet init`: a profile and a sample sheet that fits the service, after five questions."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from callsheet.deployments.commands.login import main as log_in
from callsheet.deployments.commands.options import settings_for
from callsheet.deployments.commands.tools import open_catalogue
from callsheet.deployments.parser import parse
from callsheet.deployments.process import run_command
from callsheet.deployments.terminal import (
    ask,
    at_terminal,
    console_for,
    plain,
    print_json,
    read_line,
)
from callsheet.tasks.campaign.comparison import example_csv, example_yaml
from callsheet.tasks.credentials import profile_name
from callsheet.tasks.runtime.errors import BadInput, CallsheetError, ConfigurationError
from callsheet.tasks.runtime.files import whole_file
from callsheet.tasks.runtime.known_settings import service_address
from callsheet.tasks.runtime.redact import say, visible
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.runtime.suggest import suggest, suggest_for
from callsheet.tasks.sheet.cells import language
from callsheet.tasks.store import open_store
from callsheet.tasks.values.amounts import as_text, parse_credits
from callsheet.tasks.values.catalog import Catalogue, Tool

T = TypeVar("T")
#: The profile that is written unless --profile names another.
PROFILE = "main"
SANDBOX = "sandbox"
#: Credits that the budget allows for each video, unless you say another budget.
EACH = 100

_PROFILE = """\
# Settings of commands with --profile {name}; `callsheet help settings` lists every setting
{service}
# Where videos go: a folder, or s3://bucket/prefix.
store = {store}
"""
_NO_SERVICE = '# base_url = "https://.../api/v1"   # your video service; its key: `callsheet login`'
_SHEET = """\
# A row is a video. Change the texts. To add a video, copy a row and give it another id.
# `callsheet check {sheet}` lists every mistake.
# `callsheet help columns` lists what a row can say.
"""


@dataclass(frozen=True)
class _Form:
    """Gets answers: from a person at the terminal, or the default ones."""

    asks: bool

    def answer(self, question: str, default: str, read: Callable[[str], T]) -> T:
        """Return the answer as `read` reads it; ask again where it raises ValueError or BadInput.

        The default answers when nothing is typed.
        """
        while self.asks:
            print(visible(f"{question} [{default}]: "), end="", file=sys.stderr, flush=True)
            try:
                return read(run_command(read_line(sys.stdin)).strip() or default)
            except (BadInput, ValueError) as error:
                say(visible(f"  {error}"))
        return read(default)

    def may_write(self, path: Path) -> bool:
        """Return whether a file may be written: it is new, or a person says to replace it."""
        if not path.exists():
            return True
        if self.asks and run_command(ask(f"{path} exists. Replace it?")):
            return True
        say(f"{path} exists and stays as it is")
        return False


def main(args: Namespace) -> int:
    """Write a profile and a sample sheet, and say what to type next; return 0.

    Raises BadInput for a sheet that is neither YAML nor CSV, and for a folder that is not writable.
    """
    console = console_for(args)
    sheet = Path(args.sheet)
    if sheet.suffix not in (".yaml", ".yml", ".csv"):
        raise BadInput(
            f"{sheet} is not the name of a sheet that init can write",
            remedy=f"name a YAML or CSV file: `{suggest('init', f'{sheet.stem}.yaml')}`",
        )
    form = _Form(asks=at_terminal() and not args.yes)
    if form.asks:
        say("Five questions. Press Enter to take the answer in brackets.")
    args.profile = args.profile or PROFILE
    profile = _write_profile(args, form)
    # The answers may have chosen the sandbox, too.
    suggest_for(args.profile, sandbox=args.sandbox)
    next_command = _write_sheet(args, form, sheet)
    console.print(f"next, type: {plain(next_command)}")
    if args.json:
        print_json({"profile": str(profile), "sheet": args.sheet, "next": next_command, "exit": 0})
    return 0


def _write_profile(args: Namespace, form: _Form) -> Path:
    """Ask which service and which store, write them down, and log in where a key is missing."""
    name = profile_name(args.profile)
    is_path = args.profile.endswith(".toml")
    path = Path(args.profile if is_path else f"configs/profiles/{name}.toml")
    # The profile need not be there yet, as for a login.
    settings = load_settings(profile=args.profile, logging_in=True)
    known = None if args.sandbox else settings.base_url
    question = f"Which video service? Its address, or {SANDBOX} (on this machine, free)"
    base_url = known if args.sandbox else form.answer(question, known or SANDBOX, _read_service)
    args.sandbox = base_url is None
    question = "Where should videos go? A folder, or s3://bucket/prefix"
    store = form.answer(question, settings.store, _read_store)
    if form.may_write(path):
        service = _NO_SERVICE if base_url is None else f"base_url = {json.dumps(base_url)}"
        _make_folder(path.parent)
        _write(path, _PROFILE.format(name=args.profile, service=service, store=json.dumps(store)))
    if form.asks and base_url is not None and not _has_key(args.profile):
        _log_in(args.profile)
    return path


def _log_in(profile: str) -> None:
    """Ask for a key and store it; without one, the rest goes on."""
    say("The service needs a key. Paste it here, or press Enter to log in later.")
    try:
        with redirect_stdout(sys.stderr):
            log_in(parse(["login", "--with-token", "--profile", profile]))
    except CallsheetError as error:
        say(visible(f"  {error}; you can log in later"))


def _write_sheet(args: Namespace, form: _Form, sheet: Path) -> str:
    """Ask which tool, languages and budget, write a sheet of them; return what to type next."""
    if not (args.sandbox or _has_key(args.profile)):
        # Without a key, the service tells nothing: the sandbox has tools of the same kind.
        args.sandbox, next_command = True, suggest("login", "--with-token")
    else:
        next_command = None
    say(f"asking the {SANDBOX if args.sandbox else 'service'} which tools it has ...")
    with settings_for(args) as settings:
        tool = _asked_tool(form, run_command(open_catalogue(settings)))
    languages = form.answer("Which languages? For example: en, de", "en", _read_languages)
    budget = form.answer(
        "Budget: how many credits may this campaign cost?",
        str(EACH * len(languages)),
        _read_budget,
    )
    words: list[str] = []
    if sheet.suffix == ".csv":
        text = example_csv(tool, languages)
        words = ["--budget", as_text(budget)]
    else:
        text = _SHEET.format(sheet=sheet) + example_yaml(tool, languages, budget)
    if form.may_write(sheet):
        _write(sheet, text)
    return next_command or suggest("run", args.sheet, *words)


def _asked_tool(form: _Form, catalogue: Catalogue) -> Tool:
    tools = list((catalogue.tools or {}).values())
    if not tools:
        raise ConfigurationError(
            f"{catalogue.base_url} lists no tools, so there is none to write a sample for",
            remedy=f"write one for the sandbox's tools: `{suggest('init', '--sandbox')}`",
        )

    def read(said: str) -> Tool:
        chosen = tools[int(said) - 1] if said.isdecimal() and 0 < int(said) <= len(tools) else None
        if tool := chosen or catalogue.tool(said):
            return tool
        raise ValueError(f'"{said}" is not a tool of the list: type its number or its name')

    if form.asks:
        for number, tool in enumerate(tools, start=1):
            about = ": ".join(filter(None, (tool.name, tool.words)))
            say(visible(f"  {number:>2}  {tool.id:<16} {about}"))
    return form.answer("Which tool writes the videos?", tools[0].id, read)


def _has_key(profile: str) -> bool:
    with suppress(ConfigurationError):
        load_settings(profile=profile).service()
        return True
    return False


def _read_service(said: str) -> str | None:
    if said.startswith("mav_"):
        raise ValueError("that is a key: type the service's address first, the key comes next")
    address = service_address(said)
    if said != SANDBOX and address is None:
        raise ValueError(f'"{said}" is neither an http(s) address nor {SANDBOX}')
    return address


def _read_store(said: str) -> str:
    open_store(said)
    return said


def _read_languages(said: str) -> list[str]:
    try:
        return list(dict.fromkeys(language(one) for one in said.replace("|", ",").split(",")))
    except ValueError as error:
        raise ValueError(f'"{said}" {error}') from error


def _read_budget(said: str) -> Decimal:
    budget = parse_credits(said)
    if not budget:
        raise ValueError(f'"{said}" is not an amount of credits; write it like 200')
    return budget


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"the folder {path} cannot be made: {error.strerror}",
            remedy="run in a folder that you may write to",
        ) from error


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())
    say(f"wrote {path}")
