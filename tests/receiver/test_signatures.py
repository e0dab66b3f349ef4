"""Nobody but a holder of the secret puts anything into the inbox."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from callsheet.deployments.receiver.acceptance import signer_of
from tests.receiver.hearing import SECRET, Hearing, body_about
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
    video = fresh()
    body = body_about(video)
    more = [(b"X-Service-Signature", second or signature(body))]

    assert post(hears.address, body, more=more).status == 401
    assert hears.inbox(video) == []


def test_a_body_that_was_written_anew_does_not_fit_its_signature(hears: Hearing) -> None:
    video = fresh()
    body = body_about(video)
    anew = json.dumps(json.loads(body), indent=1).encode()

    assert post(hears.address, anew, signed=signature(body)).status == 401
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
