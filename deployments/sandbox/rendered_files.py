"""Owns the files beside the state: the process that makes one video, which is never left behind;
videos after they are made; and pictures that come inside a request, decoded with care."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import io
import os
import signal
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageOps, UnidentifiedImageError

from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
MOST_PIXELS = 50_000_000
LARGEST_SIDE = 1280
#: Everything that decoding something made up is known to raise.
TROUBLES = (
    *(binascii.Error, UnidentifiedImageError, Image.DecompressionBombError),
    *(OSError, ValueError, SyntaxError),
)


class RenderFailed(Exception):
    """The video could not be made."""


async def make_video(plan: VideoPlan, path: Path) -> None:
    """Make a video and put it in its place whole; a cancelled task ends the process at once.

    A picture in the plan is looked for beside the video. Raises RenderFailed with the reason.
    """
    part = path.with_name(f"{path.name}.part")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "callsheet.deployments.sandbox.mp4", str(part)),
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


def _placed(plan: VideoPlan, folder: Path) -> VideoPlan:
    if plan.clip is None or plan.clip.picture is None:
        return plan
    return replace(plan, clip=replace(plan.clip, picture=str(folder / plan.clip.picture)))


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a video process and its encoder, which share a group of their own."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


class Fingerprint(NamedTuple):
    """What tells one video from every other."""

    sha256: str
    bytes: int


def fingerprint(path: Path) -> Fingerprint:
    """Read a video and take its fingerprint."""
    with path.open("rb") as video:
        return Fingerprint(hashlib.file_digest(video, "sha256").hexdigest(), path.stat().st_size)


def copy_marked(source: Path, path: Path, mark: str) -> None:
    """Copy a video with a mark in it that players skip: the same pictures in a file of its own."""
    words = mark.encode()
    # A box that holds nothing: its length, the word `free`, and what is to be skipped.
    box = (8 + len(words)).to_bytes(4, "big") + b"free" + words
    path.write_bytes(source.read_bytes() + box)


def damage(path: Path) -> None:
    """Make a video unplayable and leave it as long as it was."""
    video = path.read_bytes()
    # The list of its frames: without it there is nothing a player could begin with.
    at = max(0, video.find(b"moov"))
    hole = min(512, len(video) - at)
    path.write_bytes(video[:at] + bytes(hole) + video[at + hole :])


def keep_picture(address: str, path: Path) -> bool:
    """Decode a `data:image/` address into a JPEG file; False when it is another address.

    Raises a Refusal with 400 when there is no picture in it, or one that is too large.
    """
    if not address.startswith("data:"):
        return False
    try:
        raw = base64.b64decode(address.partition(",")[2], validate=True)
        picture = _decoded(raw)
    except TROUBLES as error:
        message = f"image: holds no {', '.join(FORMATS[:-1])} or {FORMATS[-1]} picture"
        raise Refusal(400, "invalid_request", message) from error
    picture.save(path, "JPEG", quality=90)
    return True


def _decoded(raw: bytes) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(raw), formats=FORMATS) as opened:
            # Before a pixel of it is decoded: a small file can hold an enormous picture.
            if opened.width * opened.height > MOST_PIXELS:
                message = f"image: has more than {MOST_PIXELS} pixels"
                raise Refusal(400, "invalid_request", message)
            opened.draft("RGB", (LARGEST_SIDE, LARGEST_SIDE))
            upright = ImageOps.exif_transpose(opened).convert("RGB")
    upright.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return upright
