"""Nobody but a holder of the secret puts anything into the inbox."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.receiver.hearing import Hearing, body_about
from tests.receiver.wire import fresh, post, signature

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
