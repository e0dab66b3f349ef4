"""Secrets are taken out of text and of log records, and the rest is left readable."""

from __future__ import annotations

import io
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.runtime.redact import PATTERNS, install, redact, register_secret, unsigned


@pytest.mark.safeguard("tasks/runtime/redact.py", "text = pattern.sub(instead, text)", "pass")
@pytest.mark.parametrize(
    "text",
    [
        "key mav_canary.x-1~",
        "claim clm_canary and whsec_canary",
        "Authorization: Bearer canary.abc==",
        "authorization: bearer canary",
        "GET https://f.test/a.mp4?X-Amz-Credential=canary&X-Amz-Signature=canary",
        "https://f.test/a#canary",
        "https://user:canary@f.test/a",
        "path /videos/x/file?whatever=canary&y=canary",
        "Signature=canary sig=canary token=canary Policy=canary code=canary",
        "code_verifier=canary&device_code=canary&user_code=canary",
        "access_token=canary refresh_token=canary claim_token=canary client_secret=canary",
        '{"access_token": "canary", "secret": "canary"}',
        "{'device_code': 'canary'}",
        "AWSAccessKeyId=canary&Expires=5",
        "postgresql://me:canary@db.test/name",
        "postgresql://me:ca?n#a/canary@db.test/name",
        "postgresql://db.test/name?user=me&password=canary",
        "postgresql://db.test/name?sslpassword=canary&sslmode=require",
        "host=db.test password=canary dbname=name",
        "mailto://ann:canary@mail.test?to=ann@mail.test",
        "s3://key:canary@bucket/prefix",
        "s3://bucket/prefix?aws_secret_access_key=canary",
    ],
)
def test_a_secret_is_taken_out(text):
    assert "canary" not in redact(text)
    assert "***" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "row r1: create was refused (402): not enough credits",
        "https://api.test/api/v1/videos",
        '{"code": "forbidden", "retryable": false}',
        "the token is missing",
        "sqlite:////var/lib/callsheet/ledger.db",
        "postgresql://me@db.test/name, and ann@mail.test",
        "design=flat, 3 of 5? yes",
        "",
    ],
)
def test_other_text_is_left_as_it_is(text):
    assert redact(text) == text


@given(st.text(alphabet="abeimrstv0 ?#&.@'\"\n\u017f\u0130BEARERBASIC"))
def test_a_text_that_is_not_looked_at_closely_holds_nothing_to_find(text):
    assert all(not pattern.search(text) for pattern, _ in PATTERNS) or redact(text) != text


def test_doing_it_twice_changes_nothing():
    once = redact("Bearer abc https://f.test/x?sig=1 token=abc mav_123")
    assert redact(once) == once


@pytest.mark.safeguard("tasks/runtime/redact.py", 'text = text.replace(value, "***")', "pass")
def test_a_registered_value_is_taken_out_wherever_it_is():
    register_secret("plainlooking1")
    register_secret("hidden-value-2")
    assert redact("a plainlooking1 b hidden-value-2") == "a *** b ***"


def test_a_very_short_value_would_take_out_ordinary_words():
    register_secret("the")
    assert redact("the video") == "the video"


@pytest.fixture
def log():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    install([handler])
    logger = logging.getLogger("test.redact.child")
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, stream
    logger.removeHandler(handler)


def test_messages_arguments_and_tracebacks_are_redacted(log):
    logger, stream = log
    logger.warning("at %s", "https://f.test/x?sig=canary")
    try:
        raise ValueError("mav_canary")
    except ValueError:
        logger.exception("it broke", stack_info=True)
    assert "canary" not in stream.getvalue()
    assert "WARNING at https://f.test/x?***" in stream.getvalue()
    assert "ValueError: mav_***" in stream.getvalue()


def test_a_wrong_format_string_still_comes_out_redacted(log):
    logger, stream = log
    logger.warning("%d videos", "mav_canary")
    assert "mav_***" in stream.getvalue()
    assert "canary" not in stream.getvalue()


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://b.example/s.csv?X-Amz-Signature=0a1b&x=1", "https://b.example/s.csv?***"),
        ("https://b.example/s.csv?token=canary0token", "https://b.example/s.csv?***"),
        ("https://docs.example/pub?gid=0&output=csv", "https://docs.example/pub?gid=0&output=csv"),
        ("s3://bucket/spring.csv", "s3://bucket/spring.csv"),
        ("campaigns/spring.csv", "campaigns/spring.csv"),
    ],
)
def test_an_address_keeps_its_query_unless_that_signs_it(address, kept):
    assert unsigned(address) == kept


def test_libraries_that_log_addresses_are_quiet():
    install([])
    assert not logging.getLogger("httpx").isEnabledFor(logging.INFO)
    assert not logging.getLogger("botocore").isEnabledFor(logging.DEBUG)
