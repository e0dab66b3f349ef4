"""`callsheet doctor`: checks this machine, the ledger, the store, the service and Prefect."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from callsheet.deployments.findings import (
    TROUBLE,
    PlaceFinding,
    all_of,
    each_of,
    files,
    inboxes_of,
    ledger,
    lost,
    nights,
    note,
    ok,
    remarks,
    room,
    service,
    store,
    versions,
    webhooks,
    wrong,
    wrong_by,
)
from callsheet.deployments.prefect_address import (
    REMEDY,
    PrefectAddress,
    ServerAnswer,
    prefect_address,
)
from callsheet.deployments.process import run_command
from callsheet.deployments.servers import prefect_of
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.deployments.up.deploy import count_workers
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.runtime.errors import CallsheetError, shorten
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import redact
from callsheet.tasks.runtime.settings import load_settings


def main(args: Namespace) -> int:
    """Show what is found; return 0, or 2 where something has to be fixed."""
    console = console_for(args)
    found = run_command(diagnose(args.profile, Path.cwd()))
    code = 2 if any(one.verdict == "wrong" for one in found) else 0
    if args.json:
        print_json({"findings": [asdict(one) for one in found], "exit": code})
    else:
        for one in found:
            _show(one, console)
    return code


def _show(found: PlaceFinding, console: Console) -> None:
    console.print(plain(redact(f"{found.verdict:<6}{found.part:<10}{found.words}")))
    if found.remedy:
        console.print(plain(redact(f"{'':16}{found.remedy}")))


# Everything that is found about the place that Callsheet runs in.


async def diagnose(profile: str | None, folder: Path) -> list[PlaceFinding]:
    """Return what is found, part by part; a part that cannot be looked at is told as such.

    Asks the service with free reads, and tries whether the store can be written and read. Nothing
    that was not there before is left behind.
    """
    found = each_of("versions", versions)
    try:
        settings = load_settings(profile=profile, folder=folder)
    except TROUBLE as error:
        found.append(wrong_by("settings", error))
        return found + await asyncio.to_thread(each_of, "prefect", _prefect_alone)
    found += each_of("settings", lambda: remarks(settings))
    found += each_of("nights", lambda: nights(settings, folder))
    found += each_of("files", lambda: files(settings))
    found += each_of("disk", lambda: room(settings))
    found += await asyncio.to_thread(each_of, "ledger", lambda: ledger(settings.ledger))
    found += await all_of("ledger", lost(settings))
    found += await all_of("service", service(settings))
    found += await all_of("webhooks", webhooks(settings))
    found += await all_of("store", store(settings))
    return found + await asyncio.to_thread(each_of, "prefect", lambda: _prefect(settings, folder))


def _prefect_alone() -> Iterator[PlaceFinding]:
    yield from prefect(prefect_address(), PrefectStarts())


def _prefect(settings: Settings, folder: Path) -> Iterator[PlaceFinding]:
    yield from prefect(prefect_of(settings.home), wanted_of(settings, folder))


# What is found of Prefect's server: does it answer, does it know us, will its recorder do?


#: Task runs that a server's recorder has to take at once, or a burst of them is lost.
BATCH = 100
#: The flows of `prefect.yaml` that workers and nights are.
WORKER, NIGHTLY = "worker", "nightly"
_DEPLOY = {
    WORKER: "`callsheet up`, or deploy what is in `prefect.yaml` (docs/deployments.md)",
    NIGHTLY: "`callsheet nights install`, unless this machine's own clock starts them",
}
_MISSING = {WORKER: "`--workers` is refused", NIGHTLY: "Prefect starts no nightly runs"}


@dataclass(frozen=True, kw_only=True)
class PrefectStarts:
    """What this place would have Prefect start: workers, where others reach its ledger; nights."""

    workers: bool = False
    nights: bool = False


def wanted_of(settings: Settings, folder: Path) -> PrefectStarts:
    """Return what settings and `nights.toml` would have Prefect start, as far as they are read."""
    workers = nights = False
    with suppress(CallsheetError):
        workers = ledger_file(ledger_url(settings.ledger)) is None
    with suppress(CallsheetError, OSError):
        nights = bool(inboxes_of(settings, folder))
    return PrefectStarts(workers=workers, nights=nights)


def prefect(at: PrefectAddress | None, wanted: PrefectStarts) -> Iterator[PlaceFinding]:
    """Ask the server that is configured; where none is, no run is shown."""
    if at is None:
        yield ok("prefect", "no server is configured: runs are not shown")
        return
    health = at.health()
    place = f"the server at {at.url} ({at.stands_in})"
    if health is ServerAnswer.REFUSED:
        yield wrong("prefect", at.refusal(), REMEDY)
    elif health is ServerAnswer.AWAY:
        words = f"{place} does not answer"
        yield wrong("prefect", words, "start it; runs go on without it, and are not shown")
    else:
        yield ok("prefect", f"{place} answers")
        yield from _servers_version(at.version(), version("prefect"))
        yield from _recorder(at.recorded_at_once())
        yield from _carriers(at, wanted)


def _servers_version(theirs: str | None, ours: str) -> Iterator[PlaceFinding]:
    if theirs is None or theirs == ours:
        return
    words = f"the server is Prefect {theirs}, this is {ours}"
    if theirs.split(".")[0] != ours.split(".")[0]:
        yield wrong("prefect", words, "run both with the same major version")
    else:
        yield ok("prefect", f"{words}: they work together")


def _recorder(at_once: int | None) -> Iterator[PlaceFinding]:
    if at_once is None or at_once >= BATCH:
        return
    yield note(
        "prefect",
        f"its recorder reads {at_once} task runs at a time: of a large campaign most are not shown",
        "start it in a folder with Callsheet's prefect.toml, or with "
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE=200 and ..._BATCH_SIZE=200",
    )


def _carriers(at: PrefectAddress, wanted: PrefectStarts) -> Iterator[PlaceFinding]:
    """Say whether the server has what starts workers and nights, and a Prefect worker for it."""
    flows = [flow for flow, is_so in ((WORKER, wanted.workers), (NIGHTLY, wanted.nights)) if is_so]
    try:
        pools: set[str] = set()
        for flow in flows:
            found = _deployments_of(at, flow)
            pools |= {one["work_pool_name"] for one in found if one.get("work_pool_name")}
            if not found:
                words = f"the server has no deployment of the flow {flow}: {_MISSING[flow]}"
                yield note("prefect", words, _DEPLOY[flow])
        for pool in sorted(pools):
            yield _workers(at, pool)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        words = f"its deployments and work pools could not be read ({shorten(str(error))})"
        yield note("prefect", words, "see `prefect deployment ls` and `prefect work-pool ls`")


def _deployments_of(at: PrefectAddress, flow: str) -> list[dict[str, Any]]:
    asked = {"flows": {"name": {"any_": [flow]}}, "limit": 200}
    return list(at.ask("deployments/filter", asked))


def _workers(at: PrefectAddress, pool: str) -> PlaceFinding:
    if count_workers(at, pool):
        return ok("prefect", f"the work pool {pool} has a Prefect worker that is up")
    words = (
        f"no Prefect worker of the work pool {pool} is up: workers and nightly runs wait for one"
    )
    return note(
        "prefect",
        words,
        f"`python -P -m callsheet.deployments.prefect_worker --pool {pool}`, or `callsheet up`",
    )
