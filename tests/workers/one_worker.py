"""`python -m tests.workers.one_worker PRODUCTION NUMBER`: a worker as a process, without Prefect.

Settings are those of its environment; SIGTERM has it leave, as a flow run does.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence

from callsheet.tasks.campaign.worker import Worker
from callsheet.tasks.engine.context import connect
from callsheet.tasks.runtime.settings import load_settings


async def process(production: str, number: int) -> None:
    """Carry batches until none is left, and print what was done."""
    async with connect(load_settings()) as at:
        worker = Worker(at, production, number)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, worker.leave, "its worker was stopped")
        print(json.dumps((await worker.process()).as_json()))


def main(words: Sequence[str]) -> int:
    """Run as a program of the launcher."""
    production, number = words
    asyncio.run(process(production, int(number)))
    return 0


if __name__ == "__main__":
    main(sys.argv[1:])
