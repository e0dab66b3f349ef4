"""What is found of Prefect's server: does it answer, does it know us, will its recorder do?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from callsheet.deployments.diagnosis.finding import PlaceFinding, note, ok, wrong
from callsheet.deployments.diagnosis.place import inboxes_of
from callsheet.deployments.prefect_address import MEND, PrefectAddress, ServerAnswer
from callsheet.deployments.up.deploy import ask_prefect, count_workers
from callsheet.tasks.errors import CallsheetError, shorten
from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.settings import Settings

#: Task runs that a server's recorder has to take at once, or a burst of them is lost.
BATCH = 100
#: The flows of `prefect.yaml` that crews and nights are.
CREW, NIGHTLY = "crew", "nightly"
_DEPLOY = {
    CREW: "`callsheet up`, or deploy what is in `prefect.yaml` (docs/deployments.md)",
    NIGHTLY: "`callsheet nights install`, unless this machine's own clock starts them",
}
_MISSING = {CREW: "`--workers` is refused", NIGHTLY: "no night starts by it"}


@dataclass(frozen=True, kw_only=True)
class PrefectStarts:
    """What this place would have Prefect start: crews, where others reach its ledger; nights."""

    crews: bool = False
    nights: bool = False


def wanted_of(settings: Settings, folder: Path) -> PrefectStarts:
    """Return what settings and `nights.toml` would have Prefect start, as far as they are read."""
    crews = nights = False
    with suppress(CallsheetError):
        crews = ledger_file(ledger_url(settings.ledger)) is None
    with suppress(CallsheetError, OSError):
        nights = bool(inboxes_of(settings, folder))
    return PrefectStarts(crews=crews, nights=nights)


def prefect(at: PrefectAddress | None, wanted: PrefectStarts) -> Iterator[PlaceFinding]:
    """Ask the server that is configured; where none is, a run brings its own."""
    if at is None:
        yield ok("prefect", "no server is configured: a run brings its own")
        return
    health = at.health()
    place = f"the server at {at.url} ({at.stands_in})"
    if health is ServerAnswer.REFUSED:
        yield wrong("prefect", at.refusal(), MEND)
    elif health is ServerAnswer.AWAY:
        words = f"{place} does not answer"
        yield wrong("prefect", words, "start it, or run with --without-prefect meanwhile")
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
    """Say whether the server has what is to start crews and nights, and a worker to carry it."""
    flows = [flow for flow, is_so in ((CREW, wanted.crews), (NIGHTLY, wanted.nights)) if is_so]
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
        words = f"what it has of crews and nights is not to be had ({shorten(str(error))})"
        yield note("prefect", words, "see `prefect deployment ls` and `prefect work-pool ls`")


def _deployments_of(at: PrefectAddress, flow: str) -> list[dict[str, Any]]:
    asked = {"flows": {"name": {"any_": [flow]}}, "limit": 200}
    return list(ask_prefect(at, "deployments/filter", asked))


def _workers(at: PrefectAddress, pool: str) -> PlaceFinding:
    if count_workers(at, pool):
        return ok("prefect", f"the work pool {pool} has a worker that is up")
    words = f"no worker of the work pool {pool} is up: crews and nights wait for one"
    return note(
        "prefect",
        words,
        f"`python -P -m callsheet.deployments.prefect_worker --pool {pool}`, or `callsheet up`",
    )
