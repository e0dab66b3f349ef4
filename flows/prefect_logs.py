"""Prefect's own logs, which go to its database: without secrets, whoever writes them."""

from __future__ import annotations

import logging

from prefect.logging.handlers import APILogHandler

from callsheet.tasks.redact import install


def redact_prefect_logs() -> None:
    """Have every handler of Prefect's loggers redact what it writes, tracebacks included.

    To be called within a flow: Prefect sets its handlers up when one starts.
    """
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "prefect"]
    loggers = [logging.root, *map(logging.getLogger, names)]
    install(handler for logger in loggers for handler in logger.handlers)


async def send_prefect_logs() -> None:
    """Send what was logged and has not been sent yet; Prefect itself does so at the exit alone."""
    await APILogHandler.aflush()
