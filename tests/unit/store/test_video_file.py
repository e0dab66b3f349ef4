"""What passes for a video."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.store import Inspection, inspect_video
from callsheet.tasks.store.video_file import check_boxes, check_units, find_ai_mark


def _file(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "video.mp4"
    path.write_bytes(data)
    return path


def _box(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(body), kind) + body


def test_a_video_is_described(video_path) -> None:
    video = inspect_video(video_path)
    assert video == Inspection(seconds=video.seconds, width=320, height=180, has_sound=True)
    assert video.seconds == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("missing", [1, 7, 200, 5000])
def test_a_cut_video_is_refused_before_it_is_opened(video, tmp_path, missing) -> None:
    with pytest.raises(VideoError, match="cut"):
        check_boxes(_file(tmp_path, video[:-missing]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>not found</html>",
        b"\x00" * 4096,
        b"RIFF" + b"\x00" * 100,
        _box(b"ftyp", b"isom"),
        _box(b"moov"),
        _box(b"ftyp", b"isom") + _box(b"moov"),
        struct.pack(">I4sQ", 1, b"ftyp", 3),
    ],
)
def test_what_is_no_video_is_refused(tmp_path, data) -> None:
    with pytest.raises(VideoError):
        inspect_video(_file(tmp_path, data))


def test_a_video_whose_pictures_are_noise_is_refused(video, tmp_path) -> None:
    start = video.index(b"mdat") + 4
    with pytest.raises(VideoError, match="decoded"):
        inspect_video(_file(tmp_path, video[:start] + b"\xff" * (len(video) - start)))


@pytest.mark.safeguard("tasks/store/video_file.py", "if at != size:", "if False:")
@pytest.mark.safeguard(
    "tasks/store/inspection.py",
    "if packet.size and packet.is_keyframe:",
    "if packet.size and packet.is_keyframe and first is None:",
)
@pytest.mark.parametrize(
    "codec", ["libx264", pytest.param("libx265", marks=pytest.mark.slow), "mpeg4"]
)
@pytest.mark.parametrize(("part", "instead"), [(0.3, b"\xff"), (0.5, b"\0"), (0.7, b"\xff")])
def test_a_video_that_is_damaged_in_the_middle_is_refused(tmp_path, part, instead, codec) -> None:
    path = _long_video(tmp_path, codec)
    assert inspect_video(path) == Inspection(seconds=8.0, width=320, height=180, has_sound=False)
    video = bytearray(path.read_bytes())
    at, length = int(len(video) * part), len(video) // 6
    video[at : at + length] = instead * length
    with pytest.raises(VideoError):
        inspect_video(_file(tmp_path, bytes(video)))


@pytest.mark.safeguard("tasks/store/video_file.py", "if has_zeros and", "if False and")
@pytest.mark.merge
@pytest.mark.parametrize("codec", ["libx264", pytest.param("libx265", marks=pytest.mark.slow)])
@pytest.mark.parametrize("picture", ["first", "key frame", "between", "last"])
def test_a_block_that_was_lost_in_any_picture_is_found(tmp_path, codec, picture) -> None:
    import av

    path = _long_video(tmp_path, codec, "-vf", "noise=alls=40:allf=t")
    assert inspect_video(path).width == 320
    with av.open(str(path)) as container:
        found = list(container.streams.video[0].index_entries)
    keys = [entry for entry in found if entry.is_keyframe]
    between = next(entry for entry in found[20:] if not entry.is_keyframe and entry.size > 8192)
    entry = {"first": keys[0], "key frame": keys[3], "between": between, "last": keys[-1]}[picture]
    video = bytearray(path.read_bytes())
    # In the middle of a unit: every length is right.
    hole = entry.pos + entry.size - 6000
    video[hole : hole + 4096] = bytes(4096)
    with pytest.raises(VideoError, match="decoded"):
        inspect_video(_file(tmp_path, bytes(video)))


def test_zeros_after_the_end_of_a_picture_are_no_hole() -> None:
    whole = b"\x65" + bytes(range(1, 200))
    padded = whole + bytes(100)
    check_units(struct.pack(">I", len(padded)) + padded, 4)
    holed = whole + bytes(100) + b"\x80"
    with pytest.raises(ValueError, match="hole"):
        check_units(struct.pack(">I", len(holed)) + holed, 4)


def _long_video(tmp_path: Path, codec: str, *words: str) -> Path:
    """Make a video of eight seconds with a key frame every second."""
    import imageio_ffmpeg

    path = tmp_path / "long.mp4"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "lavfi"]
    command += ["-i", "testsrc=size=320x180:rate=12:duration=8", "-c:v", codec, "-g", "12"]
    subprocess.run([*command, *words, "-pix_fmt", "yuv420p", str(path)], check=True)
    return path


def test_boxes_of_64_bits_are_read(video, tmp_path) -> None:
    at = video.index(b"mdat") - 4
    body = video[at + 8 :]
    wide = video[:at] + struct.pack(">I4sQ", 1, b"mdat", 16 + len(body)) + body
    check_boxes(_file(tmp_path, wide), complete=True)


def test_a_last_box_without_a_length_proves_nothing(video, tmp_path) -> None:
    at = video.index(b"mdat") - 4
    open_ended = video[:at] + b"\x00\x00\x00\x00" + video[at + 4 :]
    path = _file(tmp_path, open_ended)
    check_boxes(path)
    with pytest.raises(VideoError, match="how long"):
        check_boxes(path, complete=True)


C2PA = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")
MARK = C2PA + bytes(4) + b"manifest\0" + bytes(8) + b"jumb"


@pytest.mark.parametrize(
    ("box", "mark"),
    [
        (b"", "none"),
        (_box(b"uuid", MARK), "found"),
        (_box(b"free", bytes(99)) + _box(b"uuid", MARK) + _box(b"free"), "found"),
        (struct.pack(">I4sQ", 1, b"uuid", 16 + len(MARK)) + MARK, "found"),
        (struct.pack(">I4s", 0, b"uuid") + MARK, "found"),
        (_box(b"uuid", C2PA + bytes(4) + b"update\0"), "found"),
        # Another owner's, one that is no manifest or says nothing more, and one within another.
        (_box(b"uuid", bytes(16) + MARK[16:]), "none"),
        (_box(b"uuid", C2PA + bytes(4) + b"merkle\0" + bytes(8)), "none"),
        (_box(b"uuid", C2PA), "none"),
        (_box(b"uuid", C2PA + bytes(4)) + b"manifest\0", "none"),
        (_box(b"free", _box(b"uuid", MARK)), "none"),
    ],
)
def test_a_manifest_is_found_in_a_video_that_has_one(video, tmp_path, box, mark) -> None:
    assert find_ai_mark(_file(tmp_path, video + box)) == mark


def test_a_video_larger_than_memory_is_read_by_its_boxes_alone(tmp_path) -> None:
    size = 1 << 40
    path = tmp_path / "video.mp4"
    with path.open("wb") as file:
        file.write(_box(b"ftyp") + _box(b"moov") + struct.pack(">I4sQ", 1, b"mdat", size))
        file.seek(16 + size)
        file.write(_box(b"uuid", MARK))
    check_boxes(path, complete=True)
    assert find_ai_mark(path) == "found"


@pytest.mark.merge
def test_what_is_nothing_but_boxes_is_not_counted_for_ever(tmp_path) -> None:
    with pytest.raises(VideoError, match="not an MP4"):
        check_boxes(_file(tmp_path, _box(b"free") * 1_000_001))
