"""What the bytes of a video file tell before any of it is decoded: what is cut or left out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.values.briefs import AiMark

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext

#: Far more zeros in a row than a unit may have, far fewer than a lost block of a disk or a network.
_HOLE = bytes(64)
#: Where the setup of a codec says how wide the lengths before its units are (ISO/IEC 14496-15).
_LENGTHS = {"h264": 4, "hevc": 21}
#: What a box begins with that C2PA owns: its user type, and the version and flags of a full box
#: (C2PA specification, "Embedding manifests into BMFF-based assets").
_C2PA = bytes.fromhex("d8fec3d61b0e483c92975828877ec481") + bytes(4)
#: What such a box is for, where it has a manifest; it ends with a zero.
_MANIFESTS = (b"manifest\0", b"original\0", b"update\0")
#: Top-level boxes of a file: far more than a video in pieces of a second has in a day.
_MOST_BOXES = 1_000_000


def check_boxes(path: Path, *, complete: bool = False) -> None:
    """Raise VideoError unless the MP4's parts add up to the file: cheap, and finds most cuts.

    With `complete`, a last box that only says "to the end of the file" is no proof.
    """
    size = path.stat().st_size
    if size == 0:
        raise VideoError("the video is empty")
    kinds = set()
    with path.open("rb") as file:
        for kind, _, end in _boxes(file, size):
            if end is None and complete:
                raise VideoError("nothing in it says how long it is")
            if end is not None and end > size:
                raise VideoError(f"the video is cut: {size} of at least {end} bytes are there")
            kinds.add(kind)
    for needed, meaning in ((b"ftyp", "its type"), (b"moov", "its index")):
        if needed not in kinds:
            raise VideoError(f"the file is not a whole MP4: {meaning} is missing")


def find_ai_mark(path: Path) -> AiMark:
    """Say whether an MP4 that `check_boxes` has nothing against has a C2PA manifest.

    What that says, and whether it is genuine, is not looked at.
    """
    size, longest = path.stat().st_size, len(_C2PA) + max(map(len, _MANIFESTS))
    with path.open("rb") as file:
        for kind, begin, end in _boxes(file, size):
            if kind == b"uuid":
                file.seek(begin)
                head = file.read(min(longest, (end or size) - begin))
                if head.startswith(_C2PA) and head[len(_C2PA) :].startswith(_MANIFESTS):
                    return "found"
    return "none"


def _boxes(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int, int | None]]:
    """Yield the kind of every top-level box, where its content begins, and where it ends (None:
    wherever the file does)."""
    start = 0
    for _ in range(_MOST_BOXES):
        if start >= size:
            return
        file.seek(start)
        header = file.read(16)
        if len(header) < 8:
            raise VideoError("the video is cut in the middle of a box")
        length, kind = struct.unpack(">I4s", header[:8])
        smallest = 8
        if length == 1 and len(header) == 16:
            (length,) = struct.unpack(">Q", header[8:])
            smallest = 16
        elif length == 0:
            yield kind, start + smallest, None
            return
        if length < smallest or not kind.isascii() or not kind.decode("ascii").isprintable():
            raise VideoError("the file is not an MP4")
        yield kind, start + smallest, start + length
        start += length
    raise VideoError("the file is not an MP4")


def check_units(packet: bytes, width: int) -> None:
    """Raise ValueError unless the packet's units, each with its length before it, add up to it.

    Nor may a unit hold zeros that no one wrote. Encoders put a 3 behind every two zeros, lest they
    be taken for a unit's beginning (ISO/IEC 14496-10, 7.4.1): a block of them is a hole. Zeros at
    the very end are left there by some programs that cut units out of a stream.
    """
    at, size, has_zeros = 0, len(packet), _HOLE in packet
    while at < size and (length := int.from_bytes(packet[at : at + width])):
        begin, at = at + width, at + width + length
        if has_zeros and _HOLE in packet[begin:at].rstrip(b"\0"):
            raise ValueError("there is a hole in a picture")
    # No unit is empty either: a length of zero was never written.
    if at != size:
        raise ValueError("the units of a picture do not add up to it")


def width_of_lengths(decoder: VideoCodecContext) -> int | None:
    """Return how many bytes stand for a unit's length; None where units have none."""
    at = _LENGTHS.get(decoder.name)
    setup = decoder.extradata or b""
    # The first byte is a version; units without lengths are told apart by it.
    if at is None or len(setup) <= at or setup[0] != 1:
        return None
    return (setup[at] & 3) + 1
