"""The sandbox's small rules, with a clock of the test's own."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import pytest

from callsheet.deployments.sandbox.accounting import Limit, price, quote, render_seconds
from callsheet.deployments.sandbox.bodies import CreateVideo
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.files import Links
from callsheet.deployments.sandbox.mp4.script import Scene, caption_file
from callsheet.deployments.sandbox.options import OptionRefused, Options


def test_the_price_is_the_sum_of_its_parts():
    asked = CreateVideo(tool="explainer", duration_seconds=10, mode="cinematic", video_model="x")
    assert quote(asked) == {"seconds": 30, "script_writing": 5, "video_model": 10}
    assert price(asked) == 45


@pytest.mark.parametrize(("scale", "lifetime"), [(1, 900), (60, 15), (10_000, 5)])
def test_addresses_live_shorter_in_fast_time_but_never_too_short(scale, lifetime):
    made = Links(b"secret", scale).make("file", "vid_a", 1, now=0.0)
    assert made.expires_in == made.expires_at == lifetime


def test_retry_after_is_never_too_early_in_either_form():
    limit = Limit(1, 10.0, "rate_limited", "calls", "turns")
    limit.take(1, 1000.4)
    with pytest.raises(Refusal) as seconds:
        limit.take(1, 1003.0)
    assert seconds.value.headers["retry-after"] == "8"
    with pytest.raises(Refusal) as date:
        limit.take(1, 1003.0)
    assert parsedate_to_datetime(date.value.headers["retry-after"]).timestamp() == 1011
    limit.take(1, 1010.5)


def test_a_share_link_says_what_it_shares_until_its_end():
    links = Links(b"secret", 1.0)
    link = links.make("share", "vid_a", 3, now=1000.0)
    *said, signature = link.path.removeprefix("/share/").rsplit(".", 3)
    assert link.expires_at == 1000 + 7 * 86_400
    last = link.expires_at - 0.1
    assert links.read("share", *said, signature=signature, now=last) == ("vid_a", 3)
    for made_up in (["vid_b", *said[1:]], said[:-1], [], ["x"]):
        with pytest.raises(Refusal) as refusal:
            links.read("share", *made_up, signature=signature, now=1000.0)
        assert refusal.value.status == 404
    for other in (signature[:-1], "", "é"):
        with pytest.raises(Refusal) as refusal:
            links.read("share", *said, signature=other, now=1000.0)
        assert refusal.value.status == 404
    with pytest.raises(Refusal) as gone:
        links.read("share", *said, signature=signature, now=float(link.expires_at))
    assert gone.value.status == 410


def test_a_render_takes_minutes_and_always_the_same_time():
    times = [render_seconds(Options(), f"vid_{n}", 10) for n in range(100)]
    assert all(63 <= seconds <= 117 for seconds in times)
    assert len(set(times)) == 100
    assert render_seconds(Options(time_scale=60.0), "vid_1", 10) == times[1] / 60
    assert render_seconds(Options(render="instant"), "vid_1", 10) == 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"host": "0.0.0.0"}, "loopback"),
        ({"host": "example.com"}, "loopback"),
        ({"port": 70_000}, "port"),
        ({"time_scale": 0.0}, "time-scale"),
        ({"time_scale": float("nan")}, "time-scale"),
        ({"credits": -1}, "credits"),
        ({"rate": 0}, "rate"),
        ({"rate_window": 0.0}, "rate-window"),
        ({"spend_limit": 0}, "spend-limit"),
        ({"spend_window": float("inf")}, "spend-window"),
        ({"retry_after": "soon"}, "retry-after"),
    ],
)
def test_it_refuses_an_option_that_cannot_work(option, words):
    with pytest.raises(OptionRefused, match=words):
        Options(**option)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_it_takes_any_loopback_address(host):
    assert Options(host=host).host == host


def test_captions_cannot_be_broken_from_inside():
    scene = Scene(number=1, narration="a --> b <i>c</i> & d", start=0.0, end=2.0)
    text = caption_file([scene], "vtt")
    assert text.count("-->") == 1
    assert "<" not in text
