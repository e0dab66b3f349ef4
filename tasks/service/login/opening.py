"""Opens a page in the browser of whoever sits here.

In a process of its own: some browsers write to our standard output, which is for one document, end
with Ctrl+C, or keep whoever called them waiting until they are closed.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys

#: How long a browser that cannot be opened may take to say so, in seconds.
PATIENCE = 5.0
_PROGRAM = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"


async def open_browser(address: str) -> bool:
    """Open a page; return False where it is sure that nobody will see it."""
    # Not asyncio's: that one ends its children when the loop ends.
    child = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-I", "-c", _PROGRAM, address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for _ in range(int(PATIENCE * 10)):
        if child.poll() is not None:
            return child.returncode == 0
        await asyncio.sleep(0.1)
    return True
