"""Load the automations next to this file into the Prefect server that is configured.

    python -m callsheet.deployments.automations [--notify TYPE/NAME] [NAME ...]

Those that tell someone need a notification block, which is named as Prefect does, as
`slack-webhook/alerts`. One that already exists is brought up to date. Speaks to the server's own
interface; imports nothing of Prefect.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from ruamel.yaml import YAML

from callsheet.deployments.prefect_address import TROUBLE, PrefectAddress, prefect_address
from callsheet.tasks.runtime.redact import say, visible

#: Where a file wants the id of a notification block.
NOTIFY = "NOTIFY"
HERE = Path(__file__).parent


def main(words: Sequence[str] | None = None) -> int:
    """Load what is named, or all; return 0, or 2 where something of it could not be."""
    parser = argparse.ArgumentParser(prog="python -m callsheet.deployments.automations")
    parser.add_argument("--notify", metavar="TYPE/NAME", help="a notification block of Prefect's")
    known = sorted(path.stem for path in HERE.glob("*.yaml"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    args = parser.parse_args(words)
    if unknown := set(args.names) - set(known):
        parser.error(f"there is no automation {', '.join(sorted(unknown))}")
    at = prefect_address()
    if at is None:
        say("no Prefect server is configured: set PREFECT_API_URL")
        return 2
    try:
        block = _block(at, args.notify) if args.notify else None
        for path in (HERE / f"{name}.yaml" for name in args.names or known):
            print(visible(_load(at, path, block)))
    except (*TROUBLE, LookupError) as error:
        say(f"the Prefect server at {at.url} does not take it: {error}")
        return 2
    return 0


def read(path: Path, block: str | None) -> dict[str, Any] | None:
    """Return an automation as the server takes it; None where it tells somebody, and none is."""
    automation: dict[str, Any] = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    for action in _notifications(automation):
        if block is None:
            return None
        action["block_document_id"] = block
    return automation


def _notifications(automation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (a for a in automation["actions"] if a.get("block_document_id") == NOTIFY)


def _block(at: PrefectAddress, name: str) -> str:
    kind, _, name = name.partition("/")
    try:
        found = at.ask(f"block_types/slug/{kind}/block_documents/name/{name}")
    except HTTPError as error:
        if error.code != 404:
            raise
        raise LookupError(f"it has no block {kind}/{name}") from None
    return str(found["id"])


def _load(at: PrefectAddress, path: Path, block: str | None) -> str:
    """Have the server know an automation as the file has it; say what was done."""
    automation = read(path, block)
    if automation is None:
        words = "skipped, because it sends notifications: name a recipient with"
        return f"{path.stem}: {words} --notify TYPE/NAME"
    named = {"automations": {"name": {"any_": [automation["name"]]}}}
    known = at.ask("automations/filter", named)
    if known:
        at.ask(f"automations/{known[0]['id']}", automation, method="PUT")
        return f"{path.stem}: brought up to date"
    at.ask("automations/", automation)
    return f"{path.stem}: made"


if __name__ == "__main__":
    raise SystemExit(main())
