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

import httpx
from ruamel.yaml import YAML

from callsheet.deployments.prefect_address import prefect_address
from callsheet.deployments.prefect_deployment import client_of
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
        with client_of(at) as client:
            block = _block(client, args.notify) if args.notify else None
            for path in (HERE / f"{name}.yaml" for name in args.names or known):
                print(visible(_load(client, path, block)))
    except (httpx.HTTPError, LookupError) as error:
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


def _block(client: httpx.Client, name: str) -> str:
    kind, _, name = name.partition("/")
    found = client.get(f"block_types/slug/{kind}/block_documents/name/{name}")
    if found.status_code == 404:
        raise LookupError(f"it has no block {kind}/{name}")
    return str(found.raise_for_status().json()["id"])


def _load(client: httpx.Client, path: Path, block: str | None) -> str:
    """Have the server know an automation as the file has it; say what was done."""
    automation = read(path, block)
    if automation is None:
        words = "skipped, because it sends notifications: name a recipient with"
        return f"{path.stem}: {words} --notify TYPE/NAME"
    named = {"automations": {"name": {"any_": [automation["name"]]}}}
    known = client.post("automations/filter", json=named).raise_for_status().json()
    if known:
        client.put(f"automations/{known[0]['id']}", json=automation).raise_for_status()
        return f"{path.stem}: brought up to date"
    client.post("automations/", json=automation).raise_for_status()
    return f"{path.stem}: made"


if __name__ == "__main__":
    raise SystemExit(main())
