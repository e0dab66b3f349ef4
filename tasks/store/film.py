"""Whether a file is a playable film, and what can be said about it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tasks.errors import FilmError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Film:
    """What a look at a film tells."""

    seconds: float
    width: int
    height: int
    has_sound: bool


def inspect_film(path: Path) -> Film:
    """Return what the film at `path` is; raise FilmError when it is not a playable MP4.

    Every part of it is read and its key frames are decoded, from the first to the last: to decode
    all of a film takes seconds of it, and the pictures between two key frames only build on them.
    """
    check_boxes(path)
    import av

    try:
        # The format is named so that nothing else (a playlist, say) is read from these bytes.
        with av.open(str(path), format="mp4") as container:
            if not container.streams.video:
                problem = "the file has no picture"
            else:
                picture = container.streams.video[0]
                seconds = (container.duration or 0) / _MICROSECONDS
                sound = bool(container.streams.audio)
                width, height = _decode_through(container, picture)
                return Film(seconds, width, height, sound)
    except (av.error.FFmpegError, StopIteration, ValueError):
        problem = "no picture of the film can be decoded"
    raise FilmError(problem)


def _decode_through(container: InputContainer, picture: VideoStream) -> tuple[int, int]:
    """Decode the key frames; return width and height in pixels of the first."""
    # Few frames need no helpers: starting some for each film costs more than it saves.
    picture.codec_context.thread_count = 1
    picture.codec_context.skip_frame = "NONKEY"
    # Damage is an error, not something to be painted over.
    picture.codec_context.options = {"err_detect": "explode"}
    frames = container.decode(picture)
    first = next(frames)
    for _ in frames:
        pass
    return first.width, first.height


def check_boxes(path: Path, *, complete: bool = False) -> None:
    """Raise FilmError unless the MP4's parts add up to the file: cheap, and finds most cuts.

    With `complete`, a last box that only says "to the end of the file" is no proof.
    """
    size = path.stat().st_size
    if size == 0:
        raise FilmError("the film is empty")
    kinds = set()
    with path.open("rb") as file:
        for kind, end in _boxes(file, size):
            if end is None and complete:
                raise FilmError("nothing in it says how long it is")
            if end is not None and end > size:
                raise FilmError(f"the film is cut: {size} of at least {end} bytes are there")
            kinds.add(kind)
    for needed, meaning in ((b"ftyp", "its type"), (b"moov", "its index")):
        if needed not in kinds:
            raise FilmError(f"the file is not a whole MP4: {meaning} is missing")


def _boxes(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int | None]]:
    """Yield the kind of every top-level box and where it ends (None: wherever the file does)."""
    start = 0
    while start < size:
        file.seek(start)
        header = file.read(16)
        if len(header) < 8:
            raise FilmError("the film is cut in the middle of a box")
        length, kind = struct.unpack(">I4s", header[:8])
        smallest = 8
        if length == 1 and len(header) == 16:
            (length,) = struct.unpack(">Q", header[8:])
            smallest = 16
        elif length == 0:
            yield kind, None
            return
        if length < smallest or not kind.isascii() or not kind.decode("ascii").isprintable():
            raise FilmError("the file is not an MP4")
        yield kind, start + length
        start += length
