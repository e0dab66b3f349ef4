"""What a store holds, looked at with none of the program's code: files, digests, pictures."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import av

from tests.torture.stand import Place

#: What a bucket may keep of a killed run: small, named for what it is, and in nobody's way.
KEPT = ".callsheet-probe-"


@dataclass(frozen=True)
class Found:
    """A file in a store; `trouble` says why it is not what its name says."""

    bytes: int
    sha256: str
    trouble: str | None = None


def look(place: Place) -> tuple[Mapping[str, Found], list[str]]:
    """Return the files of a store by address, and the names of what should not be there."""
    files = dict(_objects(place) if place.bucket else _files(place.desk.folder / "deliveries"))
    litter = [name for name in files if _is_litter(name)]
    spool = place.desk.folder / ".callsheet" / "spool"
    litter += [str(left) for left in spool.glob("*")]
    return {name: found(name, data) for name, data in files.items() if not _is_litter(name)}, litter


def found(name: str, data: bytes) -> Found:
    """Return what a file is."""
    return Found(len(data), hashlib.sha256(data).hexdigest(), _trouble(name, data))


def _files(store: Path) -> Iterator[tuple[str, bytes]]:
    for path in store.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()


def _objects(place: Place) -> Iterator[tuple[str, bytes]]:
    for key in place.bucket.keys():  # noqa: SIM118 - it is no mapping
        if key.startswith(f"{place.name}/") and KEPT not in key:
            yield f"{place.bucket.address}/{key}", place.bucket.read(key)


def _is_litter(name: str) -> bool:
    own = name.rpartition("/")[2]
    return own.startswith(".") or own.endswith(".part")


def _trouble(name: str, data: bytes) -> str | None:
    if name.endswith(".mp4"):
        return _video_trouble(data)
    if name.endswith(".vtt") and not data.startswith(b"WEBVTT"):
        return "this is not VTT"
    if name.endswith(".srt") and b"-->" not in data.split(b"\n")[1]:
        return "this is not SRT"
    return None if data else "this is empty"


def _video_trouble(data: bytes) -> str | None:
    try:
        with av.open(io.BytesIO(data), "r", format="mp4") as video:
            next(video.decode(video=0))
    except (av.error.FFmpegError, StopIteration, IndexError) as error:
        return f"this video does not play ({type(error).__name__})"
    return None
