"""What passes for captions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        b"",
        b"  \n",
        b"\xef\xbb\xbf",
        b"<html>no</html>",
        b'{"success": false}',
        b"[]",
        b"just words",
        b"WEBVTT\n\n",
        b"\xff\xfe1\x00",
        SRT.encode("utf-16"),
        b"1\n00:00:00,000 --> ",
        b"\x00\x00\x00\x18ftypisom",
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


def test_many_cues_are_all_counted() -> None:
    cues = (
        f"{n}\n00:{n // 60:02}:{n % 60:02},000 --> 00:{n // 60:02}:{n % 60:02},900\n{n}\n"
        for n in range(900)
    )
    assert check_captions("\n".join(cues).encode(), "srt") == 900


#: What captions are made of, plain and odd.
TIMES = {
    "srt": ["00:00:00,000 --> 00:00:01,500\n", "00:00:02,000 --> 00:00:01,000\n"],
    "vtt": ["00:00.000 --> 00:01.500\n", "00:01.000 --> 00:00:02.000\n", "00:01.000 --> 0:02.0\n"],
}
LINES = ["1\n", "id\n", "Hi\n", "\n", " \n", "a --> b\n", "ja\r\n", "NOTE no\n", "\u2028", "\r"]
BEHIND = ["", "\n", "\n\n", "you\n", "1\n", "00:01.000 --> 00:02.000 line:0\n"]


def outcome(text: str, format: str) -> int | str:
    try:
        return check_captions(text.encode(), format)  # type: ignore[arg-type]
    except VideoError as error:
        return str(error)


@pytest.mark.parametrize("format", ["srt", "vtt"])
@given(data=st.data())
def test_plain_captions_are_counted_as_the_parser_counts_them(format: str, data: Any) -> None:
    cues = st.tuples(
        st.sampled_from(["", "7\n"]), st.sampled_from(TIMES[format]), st.sampled_from(BEHIND)
    )
    plain = cues.map(lambda cue: "Hi\n".join(["".join(cue[:2]), cue[2]]))
    pieces = st.one_of(plain, plain, plain, st.sampled_from([*LINES, *TIMES[format]]))
    text = "".join(data.draw(st.lists(pieces, max_size=6)))
    head = "WEBVTT\n\n" if format == "vtt" else ""
    # A blank line more at the beginning is nothing plain, and means nothing else.
    assert outcome(head + text, format) == outcome(f"{head}\n{text}", format)
