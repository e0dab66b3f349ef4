"""Owns the process that makes one film: it is started, listened to, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from deployments.sandbox.film.plan import FilmPlan


class RenderFailed(Exception):
    """The film could not be made."""


async def make_film(plan: FilmPlan, path: Path) -> None:
    """Make a film and put it in its place whole; a cancelled task ends the process at once.

    A picture in the plan is looked for beside the film. Raises RenderFailed with the reason.
    """
    part = path.with_name(f"{path.name}.part")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "deployments.sandbox.film", str(part)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        # Ctrl+C is for the service alone: it stops its renders itself.
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        with contextlib.suppress(ConnectionError):
            process.stdin.write(_placed(plan, path.parent).to_json().encode() + b"\n")
            await process.stdin.drain()
        complaint = await process.stderr.read()
        status = await process.wait()
        if status:
            last = complaint.decode(errors="replace").strip().splitlines()[-1:]
            raise RenderFailed(last[0] if last else f"The encoder ended with status {status}.")
        part.replace(path)
    finally:
        if process.returncode is None:
            _kill(process)
        await process.wait()
        part.unlink(missing_ok=True)


def _placed(plan: FilmPlan, folder: Path) -> FilmPlan:
    if plan.clip is None or plan.clip.picture is None:
        return plan
    return replace(plan, clip=replace(plan.clip, picture=str(folder / plan.clip.picture)))


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a film process and its encoder, which share a group of their own."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
