"""What becomes of a delivery: a hint, once, whatever is said around it; unsigned nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.deployments.receiver.acceptance import DEEPEST, MOST_VIDEOS, signer_of
from callsheet.tasks.credentials.secret_files import AFTERLIFE
from tests.receiver.hearing import (
    SECRET,
    Hearing,
    body_about,
    fresh,
    head,
    hearing,
    keep,
    post,
    send,
    signature,
)


def test_a_signed_delivery_is_heard(hears: Hearing) -> None:
    video = fresh()
    more = [(b"X-Service-Attempt", b"3"), (b"X-Service-Timestamp", b"1790000000")]
    answer = post(hears.address, body_about(video), event="evt_good", more=more)

    assert answer.status == 200
    (hint,) = hears.inbox(video)
    assert hint["event_id"] == "evt_good"
    assert (hint["nonce"], hint["kind"], hint["ping"]) == ("given", "video.ready", False)
    assert (hint["attempt"], hint["told_at"]) == (3, 1790000000)
    assert [one.videos for one in hears.passed_on if video in one.videos] == [frozenset({video})]


@pytest.mark.parametrize("event", ["evt_again", None], ids=["the same id", "other ids"])
def test_a_delivery_that_comes_again_is_heard_once(hears: Hearing, event: str | None) -> None:
    video = fresh()
    answers = [post(hears.address, body_about(video), event=event).status for _ in range(3)]

    assert answers == [200, 200, 200]
    assert len(hears.inbox(video)) == 1
    assert len([one for one in hears.passed_on if video in one.videos]) == 1


def test_no_moment_is_too_old_or_too_new(hears: Hearing) -> None:
    for at in (b"1", b"999999999999", b"soon", b"-5", b"9" * 400, b""):
        video = fresh()
        told = [(b"X-Service-Timestamp", at), (b"X-Service-Attempt", at)]
        assert post(hears.address, body_about(video), more=told).status == 200, at
        assert len(hears.inbox(video)) == 1, at


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"data": {"id": "ID"}}, 1),
        ({"video": {"video_id": "ID", "url": "https://x.test/ID"}}, 1),
        (["anything", {"deep": [[["ID"]]]}], 1),
        ({"videos": {"ID": {"state": "ready"}}}, 1),
        ("ID", 1),
        ({"data": {"id": "a ID b", "note": "ID\n", "url": "/videos/ID"}}, 0),
        ({"data": {"id": 17, "more": [None, True, 1.5]}}, 0),
        ({}, 0),
    ],
    ids=lambda value: json.dumps(value) if not isinstance(value, int) else "",
)
def test_a_video_is_found_wherever_it_is_named(hears: Hearing, body: Any, found: int) -> None:
    video, before = fresh(), len(hears.inbox())
    sent = json.dumps(body).replace("ID", video).encode() + b" " * before

    assert post(hears.address, sent).status == 200
    assert len(hears.inbox(video)) == found
    assert len(hears.inbox()) == before + 1


def test_more_videos_than_an_event_has_are_not_counted(hears: Hearing) -> None:
    body = json.dumps([fresh("vid_many") for _ in range(5000)]).encode()

    assert post(hears.address, body).status == 200
    assert len(hears.inbox()[-1]["videos"]) == MOST_VIDEOS


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON at all",
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b'{"a":' * 40_000,
        b"9" * 10_000,
        b'{"data": {"id": "' + b"\\ud800" + b'"}}',
        b'{"data": {"id": "vid_' + b"x" * 5000 + b'"}}',
        b"[" * (DEEPEST + 1) + b'"vid_deep"' + b"]" * (DEEPEST + 1),
    ],
    ids=["empty", "words", "bytes", "brackets", "braces", "digits", "half", "long", "deep"],
)  # fmt: skip
def test_a_signed_body_of_any_form_is_kept_and_names_no_video(hears: Hearing, body: bytes) -> None:
    before = len(hears.inbox())

    assert post(hears.address, body).status == 200
    assert [hint["videos"] for hint in hears.inbox()[before:]] == [[]]


@pytest.mark.parametrize(
    ("data", "ping"),
    [({"test": True}, True), ({"test": "true"}, False), ({"test": 1}, False), ([True], False)],
)
def test_a_ping_is_what_says_so_in_its_body(hears: Hearing, data: Any, ping: bool) -> None:
    before = len(hears.inbox())
    body = json.dumps({"event": "test.ping", "data": data, "n": before}).encode()

    assert post(hears.address, body).status == 200
    assert [hint["ping"] for hint in hears.inbox()[before:]] == [ping]


@pytest.mark.safeguard(
    "tasks/ledger/webhook_events.py",
    "if connection.execute(select(hints.c.id).where(same)).first() is not None:",
    "if False:",
)
def test_a_ping_that_comes_again_is_the_same_ping_heard_later(hears: Hearing) -> None:
    video = fresh()
    body = json.dumps({"data": {"test": True, "id": video}}).encode()
    moments = []
    for _ in range(2):
        assert post(hears.address, body).status == 200
        moments += [hint["heard_at"] for hint in hears.inbox(video)]

    assert len(moments) == 2
    assert moments[0] < moments[1]


def test_headers_that_are_not_signed_are_cut_to_size_and_cleaned(hears: Hearing) -> None:
    video = fresh()
    lines = head(body_about(video), event="x" * 5000).replace(
        b"video.ready", b"<b>\x1b[31m" + b"\xe9" * 500
    )

    assert send(hears.address, lines + body_about(video)).status == 200
    (hint,) = hears.inbox(video)
    assert hint["event_id"] is None, "cut short it might be another event's"
    assert hint["kind"] == ("?b?" + "??31m" + "?" * 60)[:60]


def test_a_second_event_id_makes_neither_be_believed(hears: Hearing) -> None:
    video = fresh()
    more = [(b"X-Service-Event-Id", b"evt_other")]

    assert post(hears.address, body_about(video), more=more).status == 200
    assert hears.inbox(video)[0]["event_id"] is None


def test_the_vendors_part_of_the_headers_can_be_chosen(tmp_path: Path) -> None:
    with hearing(tmp_path, CALLSHEET_WEBHOOK_VENDOR="Video-House") as one:
        video = fresh()
        body = body_about(video)

        assert post(one.address, body).status == 401
        assert post(one.address, body, vendor=b"VIDEO-house", event="evt_1").status == 200
        assert one.inbox(video)[0]["event_id"] == "evt_1"


@pytest.mark.safeguard(
    "deployments/receiver/acceptance.py",
    "if hmac.compare_digest(given, wanted) and signer is None:",
    "if signer is None:",
)
def test_two_secrets_are_taken_while_one_replaces_the_other(tmp_path: Path) -> None:
    now = [1_790_000_000.0]
    with hearing(tmp_path, clock=lambda: now[0], CALLSHEET_WEBHOOK_SECRET="") as one:
        folder = one.settings.webhook_secrets
        old, new = fresh(), fresh()

        def delivers(video: str, secret: str) -> int:
            body = body_about(video)
            return post(one.address, body, signed=signature(body, secret)).status

        assert delivers(old, "the old one") == 401
        keep(folder, "n1", "the old one", now[0])
        assert delivers(old, "the old one") == 200
        keep(folder, "n2", "the new one", now[0])
        keep(folder, "n1", "the old one", now[0], retired_at=now[0])
        assert delivers(fresh(), "the old one") == 200
        assert delivers(new, "the new one") == 200
        assert [one.inbox(video)[0]["nonce"] for video in (old, new)] == ["n1", "n2"]
        now[0] += AFTERLIFE
        assert delivers(fresh(), "the old one") == 401
        assert delivers(fresh(), "the new one") == 200


def test_a_secret_that_cannot_be_read_has_deliveries_come_again(tmp_path: Path) -> None:
    with hearing(tmp_path, CALLSHEET_WEBHOOK_SECRET="") as one:
        folder = one.settings.webhook_secrets
        keep(folder, "n1", "a secret of ours", 0)
        (folder / "n1.json").chmod(0o644)
        body = body_about(fresh())
        signed = signature(body, "a secret of ours")

        assert post(one.address, body, signed=signed).status == 503
        (folder / "n1.json").chmod(0o600)
        assert post(one.address, body, signed=signed).status == 200


FALSE: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda body: b"",
    "of another secret": lambda body: signature(body, "another secret"),
    "of another body": lambda body: signature(body + b" "),
    "short": lambda body: signature(body)[:-1],
    "long": lambda body: signature(body) + b"0",
    "in capitals": lambda body: b"sha256=" + signature(body)[7:].upper(),
    "without its prefix": lambda body: signature(body)[7:],
    "of another kind": lambda body: b"sha512=" + signature(body)[7:],
    "beyond ASCII": lambda body: signature(body)[:-2] + b"\xc3\xa9",
    "in digits of another script": lambda body: b"sha256=" + "٣".encode() * 64,
    "of a body that was written anew": lambda body: signature(
        json.dumps(json.loads(body), indent=1).encode()
    ),
    "twice in one": lambda body: signature(body) + b", " + signature(body),
    "quoted": lambda body: b'"' + signature(body) + b'"',
}


@pytest.mark.parametrize("false", FALSE.values(), ids=FALSE)
def test_a_false_signature_is_refused(hears: Hearing, false: Callable[[bytes], bytes]) -> None:
    video = fresh()
    body = body_about(video)

    assert post(hears.address, body, signed=false(body)).status == 401
    assert hears.inbox(video) == []
    assert post(hears.address, body).status == 200, "and the true one is heard after it"


@pytest.mark.parametrize("second", [b"sha256=" + b"0" * 64, None], ids=["another", "the same"])
def test_two_signatures_are_none(hears: Hearing, second: bytes | None) -> None:
    body = body_about(video := fresh())
    more = [(b"X-Service-Signature", second or signature(body))]

    assert post(hears.address, body, more=more).status == 401
    assert hears.inbox(video) == []


def test_every_secret_is_tried_and_the_first_that_fits_is_named() -> None:
    signed = signature(b"{}", SECRET)
    tried = []

    def secrets() -> object:
        for nonce, secret in (("a", b"x"), ("b", SECRET.encode()), ("c", SECRET.encode())):
            tried.append(nonce)
            yield nonce, secret

    assert signer_of([signed], b"{}", secrets()) == "b"  # type: ignore[arg-type]
    assert tried == ["a", "b", "c"]
    assert signer_of([signed], b"{}", []) is None
    assert signer_of([signed], b"{} ", [("a", SECRET.encode())]) is None
