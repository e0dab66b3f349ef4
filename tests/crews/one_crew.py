"""`python -m tests.crews.one_crew PRODUCTION NUMBER`: a crew as a process, without Prefect.

Settings are those of its environment; SIGTERM has it leave, as a flow run does.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence

from callsheet.tasks.campaign.worker import Crew
from callsheet.tasks.engine.context import connect
from callsheet.tasks.runtime.settings import load_settings


async def carry(production: str, number: int) -> None:
    """Carry batches until none is left, and print what was done."""
    async with connect(load_settings()) as at:
        crew = Crew(at, production, number)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, crew.leave, "its worker was stopped")
        print(json.dumps((await crew.carry()).as_json()))


def main(words: Sequence[str]) -> int:
    """Run as a program of the launcher."""
    production, number = words
    asyncio.run(carry(production, int(number)))
    return 0


if __name__ == "__main__":
    main(sys.argv[1:])
