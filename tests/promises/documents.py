"""What `--json` prints: the documents of real commands on a sandbox, as a table.

A name is the command and the way to a member, a list's as `[]`; what it is, the types that were
seen. Members that are named after rows, states and days are `*`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.programs import Desk, Finished, sandbox

_SHEET = """\
id,tool,fields.product,title,duration_seconds,aspect_ratio,language,x_brand,tags,max_credits,cost_center
r001,product-launch,Kettle,Kettle,5,9:16,en,Northlight,"spring, hero",50,MKT-1
r002,product-launch,Mug,Mug,5,9:16,,,,,
"""
_NIGHTS = """\
[inbox.spring]
place = "inbox"
cron = "0 2 * * *"
approval = "plan-only"
"""
_TYPES = {str: "text", bool: "yes or no", int: "number", float: "number", type(None): "nothing"}
#: Commands in order, from a campaign's sheet to what people ask of its videos.
COMMANDS = (
    ("check", "check spring.csv"),
    ("check, with problems", "check bad.csv"),
    ("tools", "tools"),
    ("plan", "plan spring.csv -o plan.json"),
    ("show-plan", "show-plan plan.json"),
    ("run", "run spring.csv --yes --budget 400 --without-prefect"),
    ("plan", "plan spring.csv --refresh"),
    ("status", "status"),
    ("status CAMPAIGN", "status spring"),
    ("rows", "rows spring"),
    ("explain", "explain spring r001"),
    ("review", "review spring r001 keep"),
    ("verify", "verify spring"),
    ("reconcile", "reconcile"),
    ("export", "export spring -o rows.csv"),
    ("export --zip", "export spring --zip spring.zip"),
    ("costs", "costs"),
    ("contact-sheet", "contact-sheet spring -o videos.html"),
    ("retake", "retake spring r002 --yes"),
    ("resolve", "resolve"),
    ("cancel", "cancel spring r002 --yes"),
    ("prune", "prune spring"),
    ("ledger check", "ledger check"),
    ("ledger backup", "ledger backup backup.db"),
    ("ledger upgrade", "ledger upgrade"),
    ("nightly", "nightly inbox --nights nights.toml"),
    ("nights list", "nights list --nights nights.toml"),
    ("whoami", "whoami"),
    ("doctor", "doctor"),
    ("every command that is refused", "run lost.csv --yes"),
)
#: Commands that are to be refused.
REFUSED = {"check, with problems", "every command that is refused"}
#: Members whose names are data: states, actions, names of checks.
_NAMED_BY_DATA = re.compile(r"\.(rows|actions|checks|waiting|fields)\.[\w-]+$")


def documents() -> dict[str, str]:
    """Run the commands in an empty folder; return every member of what they print."""
    found: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory(prefix="callsheet-promises-") as folder:
        at = Path(folder)
        (at / "desk" / "inbox").mkdir(parents=True)
        with sandbox(at / "service") as service:
            desk = Desk(at / "desk", service.environ)
            desk.sheet("spring.csv", _SHEET)
            desk.sheet("inbox/autumn.csv", _SHEET.replace("5,", "6,"))
            desk.sheet("nights.toml", _NIGHTS)
            desk.sheet("bad.csv", "id,script,aspect_ratio\nkettle,Words,4:5\n")
            for name, command in COMMANDS:
                for member, kind in _of(name, desk.call(*command.split(), "--json")):
                    found.setdefault(member, set()).add(kind)
    return {name: " or ".join(sorted(kinds)) for name, kinds in sorted(found.items())}


def _of(name: str, done: Finished) -> Iterator[tuple[str, str]]:
    refused = any("error" in line for line in done.lines)
    assert refused == (name in REFUSED), f"{name}: {done.out}{done.err}"
    for line in done.lines:
        yield from _members(f"{name}: ", line)


def _members(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield name, "members"
        for key, one in value.items():
            yield from _members(_NAMED_BY_DATA.sub(r".\1.*", f"{name}.{key}"), one)
    elif isinstance(value, list):
        yield name, "list"
        for one in value:
            yield from _members(f"{name}[]", one)
    else:
        yield name, _TYPES[type(value)]
