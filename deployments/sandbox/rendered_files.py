"""Files of rendered videos, and their signed links."""

from __future__ import annotations

import asyncio
import base64
import ctypes
import hashlib
import hmac
import io
import math
import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

from callsheet.deployments.sandbox.envelope import Refusal, invalid
from callsheet.deployments.sandbox.mp4.encode import command
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
MOST_PIXELS = 50_000_000
LARGEST_SIDE = 1280
#: `prctl`: the signal that a process gets when its parent is gone.
PR_SET_PDEATHSIG = 1


class RenderFailed(Exception):
    """The video could not be made."""


async def make_video(plan: VideoPlan, path: Path) -> None:
    """Make a video and put it in its place whole; a cancelled task ends the encoder at once.

    A picture in the plan is looked for next to the video. Raises RenderFailed with the reason.
    """
    part = path.with_name(f"{path.name}.part")
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            *command(_placed(plan, path.parent), part.absolute(), folder=Path(folder)),
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
            part.replace(path)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            part.unlink(missing_ok=True)


def _yield_to_parent() -> None:
    """Run in the encoder: be nice to the service and, on Linux, end with it however it goes."""
    if sys.platform != "win32":
        os.nice(5)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _placed(plan: VideoPlan, folder: Path) -> VideoPlan:
    if plan.clip is None or plan.clip.picture is None:
        return plan
    picture = str((folder / plan.clip.picture).absolute())
    return plan.but(clip=plan.clip.model_copy(update={"picture": picture}))


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
    # Only now: few videos come with a picture, and every start would pay for the import.
    from PIL import Image, ImageOps

    try:
        raw = base64.b64decode(address.partition(",")[2], validate=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(raw), formats=FORMATS) as opened:
                # Before a pixel of it is decoded: a small file can hold an enormous picture.
                if opened.width * opened.height > MOST_PIXELS:
                    raise invalid(f"image: has more than {MOST_PIXELS} pixels")
                opened.draft("RGB", (LARGEST_SIDE, LARGEST_SIDE))
                upright = ImageOps.exif_transpose(opened).convert("RGB")
    # Everything that decoding something made up is known to raise.
    except (Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise invalid(f"image: holds no picture in {', '.join(FORMATS)}") from error
    upright.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    upright.save(path, "JPEG", quality=90)
    return True


# Owns the addresses of videos: signed, good for one render of one video, and only for a while.
#
# A download is for who holds a key; a share is for people without an account and lasts some days.
# The specification shows neither the shape of a share nor how long it lasts (section 8).


DOWNLOAD_LIFETIME = 900.0
SHARE_LIFETIME = 7 * 86_400.0
SHORTEST = 5.0
STRANGE = "This download address is not one of ours."


class SignedLink(NamedTuple):
    """A link: its path below the origin, its end in Unix seconds, and how many are left."""

    path: str
    expires: int
    expires_in: int


class Links:
    """Makes links and reads them again. Lifetimes, in seconds, shrink with the time scale."""

    def __init__(self, secret: bytes, time_scale: float) -> None:
        self._secret = secret
        self.download_lifetime = max(SHORTEST, DOWNLOAD_LIFETIME / time_scale)
        self.share_lifetime = max(SHORTEST, SHARE_LIFETIME / time_scale)

    def download(self, video_id: str, render: int, *, now: float) -> SignedLink:
        """Make the link to one render's file, good from now on for the lifetime."""
        expires = math.ceil(now + self.download_lifetime)
        signature = self._signature(video_id, render, expires)
        query = f"render={render}&expires={expires}&signature={signature}"
        path = f"/files/{video_id}.mp4?{query}"
        return SignedLink(path, expires, round(self.download_lifetime))

    def read_download(
        self, video_id: str, *, render: str, expires: str, signature: str, now: float
    ) -> int:
        """Give the number of the render that a good address names; refuse any other address."""
        if not (render.isascii() and render.isdigit() and expires.isascii() and expires.isdigit()):
            raise Refusal(403, "bad_signature", STRANGE)
        good = self._signature(video_id, render, expires)
        if not hmac.compare_digest(good.encode(), signature.encode()):
            raise Refusal(403, "bad_signature", STRANGE)
        if now >= int(expires):
            message = "This download address has expired; ask for another."
            raise Refusal(403, "url_expired", message)
        return int(render)

    def share(self, video_id: str, render: int, *, now: float) -> SignedLink:
        """Make the public link to one render's video."""
        expires = math.ceil(now + self.share_lifetime)
        said = f"{video_id}.{render}.{expires}"
        path = f"/share/{said}.{self._share_signature(said)}"
        return SignedLink(path, expires, round(self.share_lifetime))

    def read_share(self, token: str, *, now: float) -> tuple[str, int]:
        """Give the video and render that a link names; 404 for a made-up one, 410 past its end."""
        said, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._share_signature(said).encode(), signature.encode()):
            raise Refusal(404, "not_found", "This link is not one of ours.")
        video_id, render, expires = said.split(".")
        if now >= int(expires):
            raise Refusal(410, "link_expired", "This link has expired; ask for another.")
        return video_id, int(render)

    def _share_signature(self, said: str) -> str:
        # "share" keeps these apart from the signatures of downloads, made with the same secret.
        return self._signature("share", said)[:32]

    def _signature(self, *said: object) -> str:
        return hmac.new(
            self._secret, "\n".join(map(str, said)).encode(), hashlib.sha256
        ).hexdigest()
