"""What passes for captions."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import VideoError
from callsheet.tasks.store import check_captions

SRT = "1\n00:00:00,000 --> 00:00:01,500\nGuten Tag\n\n2\n00:00:01,500 --> 00:00:03,000\nja\nja\n"
VTT = (
    "WEBVTT - title\n\nNOTE a remark\n\n00:00.000 --> 00:01.500 line:0\nHi\n\n"
    "id\n00:00:01.500 --> 00:00:03.000\nyou\n"
)


@pytest.mark.parametrize("text", [SRT, "\ufeff" + SRT, SRT.replace("\n", "\r\n"), SRT.strip()])
def test_srt_is_counted(text) -> None:
    assert check_captions(text.encode(), "srt") == 2


@pytest.mark.parametrize("text", [VTT, "\ufeff" + VTT, VTT.replace("\n", "\r\n"), VTT.strip()])
def test_vtt_is_counted(text) -> None:
    assert check_captions(text.encode(), "vtt") == 2


@pytest.mark.parametrize("format", ["srt", "vtt"])
@pytest.mark.parametrize(
    "data",
    [
        b"  \n",
        b"\xef\xbb\xbf",
        b"<html>no</html>",
        b'{"success": false}',
        b"just words",
        b"WEBVTT\n\n",
        b"\xff\xfe1\x00",
        SRT.encode("utf-16"),
        b"1\n00:00:00,000 --> ",
    ],
)
def test_what_is_no_captions_is_refused(data, format) -> None:
    with pytest.raises(VideoError):
        check_captions(data, format)


def test_one_format_does_not_pass_for_the_other() -> None:
    with pytest.raises(VideoError, match="another format"):
        check_captions(VTT.encode(), "srt")
    with pytest.raises(VideoError, match="another format"):
        check_captions(SRT.encode(), "vtt")


@pytest.mark.parametrize(
    ("text", "format", "words"),
    [
        ("1\n00:00:02,000 --> 00:00:01,000\nno\n\n" + SRT, "srt", "only 2 of 3 cues"),
        ("WEBVTT\n\n00:02.000 --> 00:01.000\nno\n", "vtt", "only 0 of 1 cues"),
        ("1\n00:00:00.000 --> 00:00:01.500\nno\n", "srt", "hold no cue"),
    ],
)
def test_times_that_cannot_be_are_refused(text, format, words) -> None:
    with pytest.raises(VideoError, match=words):
        check_captions(text.encode(), format)
