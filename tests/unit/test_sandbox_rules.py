"""The sandbox's small rules, with a clock of the test's own."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from callsheet.deployments.sandbox.accounting import Limits, Timing, price, quote
from callsheet.deployments.sandbox.bodies import CreateVideo
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.mp4.encode import plain
from callsheet.deployments.sandbox.mp4.video_plan import Scene, caption_file
from callsheet.deployments.sandbox.options import OptionRefused, Options
from callsheet.deployments.sandbox.rendered_files import Links


def test_the_price_is_the_sum_of_its_parts() -> None:
    asked = CreateVideo(tool="explainer", duration_seconds=10, mode="cinematic", video_model="x")
    assert quote(asked) == {"seconds": 30, "script_writing": 5, "video_model": 10}
    assert price(asked) == 45


def test_a_signed_address_is_good_until_its_moment() -> None:
    links = Links(b"secret", 1.0)
    signed = links.download("vid_a", 2, now=1000.0)
    query = dict(part.split("=") for part in signed.path.partition("?")[2].split("&"))
    assert signed.expires == 1900
    assert links.read_download("vid_a", **query, now=1899.9) == 2
    with pytest.raises(Refusal, match="expired"):
        links.read_download("vid_a", **query, now=1900.0)
    with pytest.raises(Refusal, match="not one of ours"):
        links.read_download("vid_b", **query, now=1000.0)


@pytest.mark.parametrize(("scale", "lifetime"), [(1, 900), (60, 15), (10_000, 5)])
def test_addresses_live_shorter_in_fast_time_but_never_too_short(
    scale: float, lifetime: float
) -> None:
    assert Links(b"secret", scale).download_lifetime == lifetime


def test_retry_after_is_never_too_early_in_either_form() -> None:
    limits = Limits(Options(rate=1, rate_window=10.0))
    limits.count(now=1000.4)
    with pytest.raises(Refusal) as seconds:
        limits.count(now=1003.0)
    assert seconds.value.headers["retry-after"] == "8"
    with pytest.raises(Refusal) as date:
        limits.count(now=1003.0)
    assert parsedate_to_datetime(date.value.headers["retry-after"]).timestamp() == 1011
    limits.count(now=1010.5)


def test_credits_are_spent_whole_or_not_at_all() -> None:
    limits = Limits(Options(spend_limit=30, spend_window=10.0, retry_after="seconds"))
    limits.spend(20, now=0.0)
    for _ in range(2):
        with pytest.raises(Refusal, match="30 credits") as refusal:
            limits.spend(11, now=4.0)
        assert refusal.value.headers["retry-after"] == "6"
    limits.spend(10, now=9.9)
    limits.spend(30, now=10.0)


def test_a_share_link_says_what_it_shares_until_its_end() -> None:
    links = Links(b"secret", 1.0)
    link = links.share("vid_a", 3, now=1000.0)
    token = link.path.removeprefix("/share/")
    assert link.expires == 1000 + 7 * 86_400
    assert links.read_share(token, now=link.expires - 0.1) == ("vid_a", 3)
    for made_up in (token.replace("vid_a", "vid_b"), token[:-1], "x", "", "é.1.2.3"):
        with pytest.raises(Refusal) as refusal:
            links.read_share(made_up, now=1000.0)
        assert refusal.value.status == 404
    with pytest.raises(Refusal) as gone:
        links.read_share(token, now=float(link.expires))
    assert gone.value.status == 410


def test_a_render_takes_minutes_and_always_the_same_time() -> None:
    timing = Timing(1.0, instant=False)
    times = [timing.render_seconds(f"vid_{n}", 10) for n in range(100)]
    assert all(63 <= seconds <= 117 for seconds in times)
    assert len(set(times)) == 100
    assert Timing(60.0, instant=False).render_seconds("vid_1", 10) == times[1] / 60
    assert Timing(1.0, instant=True).render_seconds("vid_1", 10) == 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"host": "0.0.0.0"}, "loopback"),
        ({"host": "example.com"}, "loopback"),
        ({"port": 70_000}, "port"),
        ({"time_scale": 0.0}, "time scale"),
        ({"time_scale": float("nan")}, "time scale"),
        ({"credits": -1}, "credits"),
        ({"rate": 0}, "rate"),
        ({"rate_window": 0.0}, "window"),
        ({"spend_limit": 0}, "spend limit"),
        ({"spend_window": float("inf")}, "spend window"),
        ({"retry_after": "soon"}, "Retry-After"),
    ],
)
def test_it_refuses_an_option_that_cannot_work(option: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionRefused, match=words):
        Options(**option)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_it_takes_any_loopback_address(host: str) -> None:
    assert Options(host=host).host == host


def test_captions_cannot_be_broken_from_inside() -> None:
    scene = Scene(number=1, narration="a --> b <i>c</i> & d", visual="", start=0.0, end=2.0)
    text = caption_file([scene], "vtt")
    assert text.count("-->") == 1
    assert "<" not in text


def test_captions_of_a_long_scene_come_in_cues_of_two_lines() -> None:
    scene = Scene(number=1, narration="word " * 60, visual="", start=1.0, end=9.0)
    blocks = caption_file([scene], "srt").strip().split("\n\n")
    assert len(blocks) > 2
    assert all(len(block.split("\n")) <= 4 for block in blocks)
    assert "00:00:01,000 -->" in blocks[0]
    assert "--> 00:00:09,000" in blocks[-1]


def test_what_cannot_be_drawn_is_left_out() -> None:
    assert plain("a\x00b\n\u200bc") == "a b c"
    assert len(plain("x" * 1000)) == 600
