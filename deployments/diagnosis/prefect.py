"""What is found of Prefect's server: does it answer, does it know us, will its recorder do?"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from deployments.diagnosis.finding import PlaceFinding, note, ok, wrong
from deployments.prefect_address import MEND, PrefectAddress, ServerAnswer

#: Task runs that a server's recorder has to take at once, or a burst of them is lost.
BATCH = 100


def prefect(at: PrefectAddress | None) -> Iterator[PlaceFinding]:
    """Ask the server that is configured; where none is, a run brings its own."""
    if at is None:
        yield ok("prefect", "no server is configured: a run brings its own")
        return
    health = at.health()
    place = f"the server at {at.url} ({at.stands_in})"
    if health is ServerAnswer.REFUSED:
        yield wrong("prefect", at.refusal(), MEND)
    elif health is ServerAnswer.AWAY:
        yield wrong("prefect", f"{place} does not answer")
    else:
        yield ok("prefect", f"{place} answers")
        yield from _servers_version(at.version(), version("prefect"))
        yield from _recorder(at.recorded_at_once())


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
