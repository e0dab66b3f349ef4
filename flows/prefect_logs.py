"""Prefect's own logs, which go to its database: without secrets, and no error where none is."""

from __future__ import annotations

import logging
import re

from prefect.logging.handlers import APILogHandler

from callsheet.tasks.redact import install

#: How Prefect logs the end of a run that was cancelled or suspended, or that waits: the type of its
#: state comes last, unless the state has the same name.
_NO_ERROR = re.compile(
    r"Finished in state (?:(?:Cancelled|Paused|Scheduled)\("
    r"|.*\btype=(?:CANCELLED|PAUSED|SCHEDULED)\)$)",
    re.DOTALL,
)


def set_up_prefect_logs() -> None:
    """Have every handler of Prefect's loggers redact what it writes, tracebacks included.

    Prefect logs every end but Completed as an error; a run that was cancelled, suspended or parked
    has none. To be called within a flow: Prefect sets its handlers up when one starts.
    """
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "prefect"]
    loggers = [logging.root, *map(logging.getLogger, names)]
    handlers = [handler for logger in loggers for handler in logger.handlers]
    install(handlers)
    for handler in handlers:
        # Once, however many flows this process runs.
        handler.removeFilter(_calm)
        handler.addFilter(_calm)


def _calm(record: logging.LogRecord) -> bool:
    """Lower the level of a line that says how a run ended, where that is no error."""
    if record.levelno == logging.ERROR and _NO_ERROR.match(record.getMessage()):
        record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
    return True


async def send_prefect_logs() -> None:
    """Send what was logged and has not been sent yet; Prefect itself does so at the exit alone."""
    await APILogHandler.aflush()
