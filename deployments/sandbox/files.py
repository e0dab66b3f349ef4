"""Files of rendered videos, and their signed links."""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import hmac
import math
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.mp4.encode import command
from callsheet.deployments.sandbox.video import Video

#: `prctl`: the signal that a process gets when its parent is gone.
PR_SET_PDEATHSIG = 1


class RenderFailed(Exception):
    """The video could not be made."""


async def make_video(plan: Video, path: Path) -> None:
    """Make a video and put it in its place whole; a cancelled task ends the encoder at once.

    Raises RenderFailed with the reason.
    """
    part = path.with_name(f"{path.name}.part").absolute()
    with tempfile.TemporaryDirectory() as folder:
        try:
            await _encode(command(plan, part, folder=Path(folder)), folder)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


async def _encode(words: Sequence[str], folder: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        # Ctrl+C is for the service alone: it stops its renders itself.
        start_new_session=True,
        preexec_fn=_yield_to_parent if sys.platform != "win32" else None,
    )
    try:
        _, complaint = await process.communicate()
        if process.returncode:
            last = complaint.decode(errors="replace").strip().splitlines()[-1:]
            raise RenderFailed(*last or ["The encoder ended without a word."])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _yield_to_parent() -> None:
    """Run in the encoder: be nice to the service and, on Linux, end with it however it goes."""
    if sys.platform != "win32":
        os.nice(5)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def sha256_of(path: Path) -> str:
    """Read a video and tell it from every other."""
    with path.open("rb") as video:
        return hashlib.file_digest(video, "sha256").hexdigest()


def copy_marked(source: Path, path: Path, mark: str) -> None:
    """Copy a video with a mark in it that players skip: the same pictures in a file of its own."""
    words = mark.encode()
    # A box that holds nothing: its length, the word `free`, and what is to be skipped.
    box = (8 + len(words)).to_bytes(4, "big") + b"free" + words
    path.write_bytes(source.read_bytes() + box)


def add_manifest(path: Path) -> None:
    """Put a box into a video that is C2PA's, as one with a manifest has it; nothing is signed."""
    owner = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")
    # Version and flags, what it is for, where more of it is, and a manifest that has nothing in it.
    words = owner + bytes(4) + b"manifest\0" + bytes(8) + b"\0\0\0\x08jumb"
    with path.open("ab") as video:
        video.write((8 + len(words)).to_bytes(4, "big") + b"uuid" + words)


def damage(path: Path) -> None:
    """Make a video unplayable and leave it as long as it was."""
    video = path.read_bytes()
    # The list of its frames: without it there is nothing a player could begin with.
    at = max(0, video.find(b"moov"))
    hole = min(512, len(video) - at)
    path.write_bytes(video[:at] + bytes(hole) + video[at + hole :])


# Owns the addresses of videos: signed, good for one render of one video, and only for a while.
#
# A download is for who holds a key; a share is for people without an account and lasts some days.
# The specification shows neither the shape of a share nor how long it lasts (section 8).

Kind = Literal["file", "share"]
ADDRESSES = {
    "file": "/files/{}.mp4?render={}&expires={}&signature={}",
    "share": "/share/{}.{}.{}.{}",
}
LIFETIMES = {"file": 900.0, "share": 7 * 86_400.0}
SHORTEST = 5.0
#: How an address that was made up is refused, and one that has expired.
STRANGE = {"file": (403, "bad_signature"), "share": (404, "not_found")}
EXPIRED = {"file": (403, "url_expired"), "share": (410, "link_expired")}


class SignedLink(NamedTuple):
    """A link: its path below the origin, its end in Unix seconds, and how many are left."""

    path: str
    expires_at: int
    expires_in: int


class Links:
    """Makes links and reads them again. Lifetimes, in seconds, shrink with the time scale."""

    def __init__(self, secret: bytes, time_scale: float) -> None:
        self._secret = secret
        self._time_scale = time_scale

    def make(self, kind: Kind, video_id: str, render: int, *, now: float) -> SignedLink:
        """Make the link to one render's video, good from now on for the lifetime of its kind."""
        lasts = max(SHORTEST, LIFETIMES[kind] / self._time_scale)
        expires = math.ceil(now + lasts)
        said = (video_id, str(render), str(expires))
        return SignedLink(
            ADDRESSES[kind].format(*said, self._signature(kind, *said)), expires, round(lasts)
        )

    def read(self, kind: Kind, *said: str, signature: str, now: float) -> tuple[str, int]:
        """Give the video and the number of the render that an address names, from its `said` parts
        in order; refuse one that is not ours, or that has expired."""
        if not hmac.compare_digest(self._signature(kind, *said).encode(), signature.encode()):
            raise Refusal(*STRANGE[kind], "This address is not one of ours.")
        video_id, render, expires = said
        if now >= int(expires):
            raise Refusal(*EXPIRED[kind], "This address has expired; ask for another.")
        return video_id, int(render)

    def _signature(self, *said: str) -> str:
        return hmac.new(self._secret, "\n".join(said).encode(), hashlib.sha256).hexdigest()
