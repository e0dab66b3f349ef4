"""Sandboxes as processes of their own, and clients of them: two readings of one text."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from callsheet.deployments.direct.body import body_of
from callsheet.tasks.runtime.errors import Conflict
from callsheet.tasks.service import Created, VideoService
from callsheet.tasks.values.briefs import canonical_json
from callsheet.tasks.values.requests import CharacterSwap, ImageToVideo, TalkingAvatar
from tests.launcher import launcher

REQUEST = {
    "topic": "A lighthouse",
    "title": "Lighthouse",
    "script": {"scenes": [{"text": "Here is the lighthouse."}, {"text": "It stands alone."}]},
    "mode": "cinematic",
    "aspect_ratio": "16:9",
    "duration_seconds": 5,
}
#: Whoever has no key; nothing here speaks TLS.
anyone = httpx.Client(verify=False)

#: A body for every operation that makes a clip; nothing that it points to is ever fetched.
CLIPS = {
    "image-to-video": body_of(
        ImageToVideo,
        image="https://files.example.com/cat.png",
        duration_seconds=5,
        narration="I am a cat.",
    ),
    "talking-avatar": body_of(
        TalkingAvatar,
        clip="https://files.example.com/me.mp4",
        script={"scenes": [{"text": "Good evening."}]},
    ),
    "character-swap": body_of(
        CharacterSwap,
        clip="https://files.example.com/dance.mp4",
        photos=["https://files.example.com/p.jpg"],
        duration_seconds=3,
    ),
}
#: The ways of answering that the specification leaves open.
DIALECTS = ("enveloped", "bare", "renamed")
#: How the sandbox is started where a test asks for nothing else: videos are ready at once.
USUAL = ("--time-scale", "600", "--allow-loopback-webhooks")


@contextmanager
def sandbox(state: Path, *options: str) -> Iterator[dict]:
    """Run a sandbox of its own and yield the line it says when it is ready."""
    words = ["--port", "0", "--json", "--state", str(state), "--render", "instant", *options]
    process = launcher("sandbox").start(words, stdout=subprocess.PIPE, new_session=True)
    try:
        yield json.loads(process.stdout.readline())
    finally:
        # At once: how it stops when it is asked to is tested elsewhere.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def client(ready: dict, key: str | None = None) -> VideoService:
    return VideoService(base_url=ready["base_url"], api_key=key or ready["api_key"])


def frozen(key: str, **more: object) -> bytes:
    return canonical_json({**REQUEST, "start_generation": True, "idempotency_key": key, **more})


def new_key() -> str:
    return f"cs1_{uuid.uuid4().hex}"


async def made(service: VideoService, key: str, **more: object) -> Created:
    """Create a video under a key."""
    return await service.create(frozen(key, **more), key=key)


async def finished(service: VideoService, video_id: str) -> str:
    """Return the signed address of a video, once there is one."""
    for _ in range(600):
        try:
            return (await service.download(video_id)).url
        except Conflict:
            await asyncio.sleep(0.05)
    raise AssertionError("it was never finished")


def plan_fault(ready: dict, on: str, do: str, **more: object) -> None:
    """Have something go wrong with the next call of an operation, or as `more` says."""
    fault = {"on": on, "do": do, "nth": 1} | more
    anyone.post(f"{ready['auth_url']}/_sandbox/faults", json=fault).raise_for_status()


def clear_faults(ready: dict) -> None:
    """Have nothing go wrong any more."""
    anyone.delete(f"{ready['auth_url']}/_sandbox/faults").raise_for_status()


async def endless(service: VideoService, ready: dict) -> str:
    """Create a video whose render never ends."""
    plan_fault(ready, "render", "never")
    return (await made(service, new_key())).video_id
