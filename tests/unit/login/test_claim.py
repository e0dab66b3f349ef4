"""The claim that one person approves: begun, put down, taken up again, run out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from callsheet.tasks.runtime.errors import LoginError
from callsheet.tasks.service.login import Claim, UserCode, log_in_by_claim
from tests.unit.login.conftest import GRANTED, KEY, PENDING

BEGIN, FRESH, TOKEN = "/agent/identity", "/agent/identity/claim", "/api/oauth/token"
GRANT = "urn:acme:agent-auth:grant-type:claim"
CODE = {
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://auth.test/device",
    "expires_in": 600,
    "interval": 5,
}
BEGUN = {"claim_token": "clm_canary0claim", "claim_token_expires": 86400, "claim": CODE}
OTHER = {**CODE, "user_code": "BBBB-CCCC"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PUT_DOWN = Claim(
    token="clm_canary0kept",
    expires_at=NOW + timedelta(hours=3),
    code=UserCode(code="DDDD-FFFF", address="https://auth.test/device"),
    code_until=NOW + timedelta(seconds=90),
)
RUN_OUT = replace(PUT_DOWN, code_until=NOW - timedelta(seconds=1))
IN_FLIGHT = (409, {"error": "claimed_or_in_flight"})


@pytest.fixture
def kept():
    return []


@pytest.fixture
def log_in(exchange, endpoints, server, heard, kept):
    server.on(BEGIN, BEGUN).on(FRESH, OTHER)

    async def act(*steps, pending=None):
        if steps:
            server.on(TOKEN, *steps)
        return await log_in_by_claim(
            exchange,
            endpoints,
            email="ada@studio.example",
            client_name="Callsheet on set",
            scopes=("read",),
            grant_type=GRANT,
            show=heard.show,
            say=heard.say,
            pending=pending,
            keep=lambda claim: kept.append((claim, len(heard.codes))),
        )

    return act


async def test_a_claim_is_begun_kept_shown_and_polled(log_in, server, heard, kept):
    assert (await log_in(PENDING, GRANTED)).key == KEY
    (begun,) = server.to(BEGIN)
    asked = {"type": "service_auth", "login_hint": "ada@studio.example", "scope": "read"}
    assert begun.members == {**asked, "client_name": "Callsheet on set"}
    ((claim, shown_before),) = kept
    assert (claim.token, shown_before) == ("clm_canary0claim", 0)
    assert [code.code for code in heard.codes] == ["WDJB-MJHT"]
    assert server.to(TOKEN)[0].members == {"grant_type": GRANT, "claim_token": "clm_canary0claim"}
    assert not server.to(FRESH)


@pytest.mark.parametrize(
    ("said", "hours"),
    [
        ("7200", 2),
        ((NOW + timedelta(hours=5)).timestamp(), 5),
        ("2026-01-01T06:00:00Z", 6),
        ("2026-01-01T07:00:00", 7),
        (None, 24),
        ("tomorrow", 24),
        ([], 24),
    ],
)
async def test_the_end_of_a_claim_is_read_in_every_way_it_may_be_said(
    log_in, server, kept, said, hours
):
    server.on(BEGIN, {**BEGUN, "claim_token_expires": said})
    await log_in(GRANTED)
    assert kept[0][0].expires_at == NOW + timedelta(hours=hours)


async def test_a_code_that_runs_out_is_replaced_while_the_claim_holds(log_in, server, heard, time):
    await log_in(PENDING, {"error": "expired_token"}, PENDING, GRANTED)
    assert [code.code for code in heard.codes] == ["WDJB-MJHT", "BBBB-CCCC"]
    (fresh,) = server.to(FRESH)
    assert fresh.members == {"claim_token": "clm_canary0claim"}
    assert len(server.to(BEGIN)) == 1


async def test_a_claim_that_nobody_approves_ends_with_its_day(log_in, server, time):
    server.on(BEGIN, {**BEGUN, "claim_token_expires": 1500})
    with pytest.raises(LoginError) as caught:
        await log_in(PENDING)
    assert caught.value.code == "claim_expired"
    assert 1500 <= time.passed < 2500


async def test_a_claim_is_taken_up_again_with_the_code_that_is_still_good(
    log_in, server, heard, kept
):
    await log_in(PENDING, GRANTED, pending=PUT_DOWN)
    assert (server.to(BEGIN), server.to(FRESH), kept) == ([], [], [])
    assert [(code.code, code.polling.lifetime) for code in heard.codes] == [("DDDD-FFFF", 90)]
    assert server.to(TOKEN)[0].members["claim_token"] == "clm_canary0kept"


async def test_a_claim_is_taken_up_again_with_a_fresh_code(log_in, server, heard, kept):
    await log_in(GRANTED, pending=RUN_OUT)
    assert not server.to(BEGIN)
    assert [code.code for code in heard.codes] == ["BBBB-CCCC"]
    ((claim, _),) = kept
    assert (claim.token, claim.code.code) == ("clm_canary0kept", "BBBB-CCCC")
    assert claim.code_until == NOW + timedelta(seconds=600)


async def test_a_claim_that_was_approved_meanwhile_needs_no_fresh_code(log_in, server, heard):
    server.on(FRESH, IN_FLIGHT)
    assert (await log_in(GRANTED, pending=RUN_OUT)).key == KEY
    assert "dealt with" in heard.said[0]


async def test_a_code_that_the_server_holds_good_is_waited_for(log_in, server, heard):
    server.on(FRESH, IN_FLIGHT, OTHER)
    await log_in(PENDING, {"error": "expired_token"}, GRANTED, pending=RUN_OUT)
    assert [code.code for code in heard.codes] == ["DDDD-FFFF", "BBBB-CCCC"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((410, {"error": "claim_expired"}), "claim_expired"),
        ((400, {"error": "invalid_claim_token"}), "invalid_claim_token"),
        ((401, {"error": {"code": "invalid_claim_token", "message": "x"}}), "invalid_claim_token"),
    ],
)
async def test_a_claim_that_is_over_says_so(log_in, server, answer, code):
    server.on(FRESH, answer)
    with pytest.raises(LoginError) as caught:
        await log_in(pending=RUN_OUT)
    assert caught.value.code == code
    assert "begins a new one" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("anonymous_not_enabled", "email address"),
        ("issuer_not_enabled", "identity of another issuer"),
        ("unsupported_grant_type", "CALLSHEET_CLAIM_GRANT"),
    ],
)
async def test_each_refusal_has_its_own_sentence(log_in, server, code, words):
    server.on(BEGIN, (403, {"error": code}))
    with pytest.raises(LoginError) as caught:
        await log_in()
    assert words in f"{caught.value} {caught.value.remedy}"
