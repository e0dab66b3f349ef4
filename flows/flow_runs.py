"""What every flow run has: a name, settings, redacted logs; and how one stops its night."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import PurePosixPath
from typing import Any, cast

from coolname.data import config
from prefect import get_run_logger
from prefect.runtime import flow_run

from callsheet.flows.interruption import WORDS
from callsheet.flows.watch import FlowWatch
from callsheet.tasks.campaign.run import OpenRuns
from callsheet.tasks.campaign.run_record import comes_from
from callsheet.tasks.ledger.runs import RunDoor
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import install
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.runtime.suggest import suggest_for

# Interruptions of the flow run of a night, and the updates of its page.
#
# A nightly run that is cancelled, paused or left by its Prefect worker starts nothing more and ends
# cleanly. This does not cancel campaigns: videos in progress continue at the service, and the next
# nightly run downloads them.


_LEFT = "the service continues what has started, and the next nightly run downloads it"


@asynccontextmanager
async def stopping_with_flow(runs: OpenRuns) -> AsyncIterator[None]:
    """Stop the runs of a night when its flow run is interrupted; then raise its final state."""
    watch = FlowWatch(lambda kind: runs.lose(WORDS[kind]))
    with watch.listening():
        yield
    if kind := await watch.settled():
        words = f"{WORDS[kind]}: {_LEFT}"
        get_run_logger().warning(words)
        await watch.leave(words)


# The name of a flow run: the one a person typed, else its campaign and start minute.


#: Names that Prefect's form suggests: a star with a Greek letter, `lambda3-vega-cloud`.
_OF_THE_FORM = re.compile(
    r"(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho"
    r"|sigma|tau|upsilon|phi|chi|psi|omega)\d*(-[a-z]+){1,4}"
)


def run_name() -> str:
    """Name a flow run, unless a person has named it."""
    named = flow_run.name
    if named and not is_made_up(named):
        return str(named)
    asked: dict[str, Any] = flow_run.parameters or {}
    name = asked.get("campaign") or PurePosixPath(str(asked.get("sheet", ""))).stem or "campaign"
    return f"{name} {datetime.now(UTC):%Y-%m-%d %H:%M}"


def is_made_up(name: str) -> bool:
    """Return whether a name is one that Prefect generates: `dancing-otter`."""
    if _OF_THE_FORM.fullmatch(name):
        return True
    words = name.split("-")
    return len(words) == 2 and _known_words().issuperset(words)


@cache
def _known_words() -> frozenset[str]:
    lists = cast(dict[str, dict[str, Any]], config)
    return frozenset(word for one in lists.values() for word in one.get("words", ()))


# What a flow run begins with: settings, the commands that remedies name, and Prefect's own logs,
# which go to its database: without secrets, and without false errors.


def set_up_flow(
    profile: str | None, *, sheet: str | None = None, door: RunDoor = "flow"
) -> Settings:
    """Set up the process of a flow run; return its settings, as `load_settings` does."""
    set_up_prefect_logs()
    # One that Prefect starts again is the same run.
    comes_from(door, f"flow run {flow_run.id}", run_id=flow_run.id)
    suggest_for(profile, flow=True)
    return load_settings(profile=profile, sheet=sheet)


#: How Prefect logs the end of a run that was cancelled, suspended or waits: the type of the state
#: comes last, unless the state has the same name.
_NO_ERROR = re.compile(
    r"Finished in state (?:(?:Cancelled|Paused|Scheduled)\("
    r"|.*\btype=(?:CANCELLED|PAUSED|SCHEDULED)\)$)",
    re.DOTALL,
)


def set_up_prefect_logs() -> None:
    """Redact everything that Prefect's log handlers write, including tracebacks.

    Prefect logs every final state but Completed as an error, also cancelled, suspended and parked.
    Call this within a flow, because Prefect sets up its handlers when a flow starts.
    """
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "prefect"]
    loggers = [logging.root, *map(logging.getLogger, names)]
    handlers = [handler for logger in loggers for handler in logger.handlers]
    install(handlers)
    for handler in handlers:
        # Once per process.
        handler.removeFilter(_calm)
        handler.addFilter(_calm)


def _calm(record: logging.LogRecord) -> bool:
    """Lower the level of a line about a final state that is not an error."""
    if record.levelno == logging.ERROR and _NO_ERROR.match(record.getMessage()):
        record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
    return True
