"""The device grant: how it polls, what it waits out, and what ends it."""

from __future__ import annotations

import pytest

from callsheet.tasks.runtime.errors import LoginError, Parked
from callsheet.tasks.service.login import log_in_by_device
from tests.unit.login.conftest import GRANTED, KEY, PENDING

BEGIN, TOKEN = "/api/oauth/device_authorization", "/api/oauth/token"
STARTED = {
    "device_code": "canary0device0code",
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://auth.test/device",
    "verification_uri_complete": "https://auth.test/device?user_code=WDJB-MJHT",
    "expires_in": 600,
    "interval": 5,
}
PAGE = (200, b"<html>captive portal</html>")
SLOWER = {"error": "slow_down"}


@pytest.fixture
def log_in(exchange, endpoints, server, heard):
    server.on(BEGIN, STARTED)

    async def act(*steps):
        if steps:
            server.on(TOKEN, *steps)
        return await log_in_by_device(
            exchange,
            endpoints,
            client_name="Callsheet on set",
            scopes=("read", "write"),
            show=heard.show,
            say=heard.say,
        )

    return act


async def test_it_shows_the_code_and_returns_what_was_granted(log_in, server, heard):
    grant = await log_in(PENDING, {**GRANTED, "expires_in": 3600})
    assert (grant.key, grant.scopes, grant.lifetime) == (KEY, ("read", "write", "ai"), 3600)
    (code,) = heard.codes
    assert (code.code, code.address) == ("WDJB-MJHT", "https://auth.test/device")
    assert code.complete == STARTED["verification_uri_complete"]
    (begun,) = server.to(BEGIN)
    assert begun.members == {"client_name": "Callsheet on set", "scope": "read write"}
    assert server.to(TOKEN)[1].members == {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": "canary0device0code",
    }


@pytest.mark.parametrize(
    ("steps", "slept"),
    [
        # It waits before the first poll, and a fifth longer than asked.
        ([PENDING, PENDING], [6, 6, 6]),
        ([PENDING, SLOWER, PENDING, SLOWER], [6, 6, 14, 14, 21]),
        # An interval that the server sends wins.
        ([{**SLOWER, "interval": 7}, {**PENDING, "interval": "3"}], [6, 9.8, 4.2]),
        ([(429, b"", {"retry-after": "40"})], [6, 40]),
    ],
)
async def test_it_polls_as_slowly_as_it_is_asked_to(log_in, time, steps, slept):
    await log_in(*steps, GRANTED)
    assert time.slept == pytest.approx(slept)


async def test_nonsense_in_place_of_times_is_as_if_it_were_missing(log_in, server, heard, time):
    server.on(BEGIN, {**STARTED, "interval": "often", "expires_in": -1})
    await log_in(GRANTED)
    assert time.slept == [6.0]
    assert heard.codes[0].polling.lifetime == 600


@pytest.mark.parametrize(
    "silence",
    [
        "close",
        (500, {"error": "boom"}),
        PAGE,
        (200, {"hello": 1}),
        (400, {"error": "temporarily_unavailable"}),
        (503, {"data": None, "error": {"code": "internal_error", "message": "x"}}),
    ],
)
async def test_it_keeps_polling_through_trouble_less_often(log_in, time, heard, silence):
    assert (await log_in(silence, silence, PENDING, GRANTED)).key == KEY
    assert time.slept == [6.0, 12.0, 24.0, 6.0]
    assert len([words for words in heard.said if "still waiting" in words]) == 1


async def test_trouble_until_the_code_runs_out_is_parked(log_in, time):
    with pytest.raises(Parked, match="trouble"):
        await log_in((503, b""))
    assert 600 <= time.passed <= 720


async def test_a_code_that_nobody_approves_runs_out(log_in, time):
    with pytest.raises(LoginError, match="ran out") as caught:
        await log_in(PENDING)
    assert caught.value.code == "expired_token"
    assert 600 <= time.passed < 610


@pytest.mark.parametrize("status", [200, 400, 403, 500])
@pytest.mark.parametrize(
    ("code", "words", "remedy"),
    [
        ("expired_token", "ran out", "callsheet login"),
        ("access_denied", "declined", "callsheet login"),
        ("invalid_grant", "used before", "Settings, Advanced, API keys"),
    ],
)
async def test_a_definite_answer_ends_it_whatever_its_status(
    log_in, server, status, code, words, remedy
):
    with pytest.raises(LoginError, match=words) as caught:
        await log_in(PENDING, (status, {"error": code}))
    assert (caught.value.code, caught.value.exit_status) == (code, 2)
    assert remedy in (caught.value.remedy or "")
    assert len(server.to(TOKEN)) == 2


async def test_an_unknown_error_ends_it_in_the_servers_words(log_in):
    said = {"error": "quota_\x1b[31mhit", "error_description": "No.\nToken mav_secret123 is bad"}
    with pytest.raises(LoginError) as caught:
        await log_in((400, said))
    assert '"quota_ [31mhit": No. Token mav_*** is bad' in str(caught.value)


async def test_a_success_whose_answer_was_lost_is_told_from_an_unknown_code(log_in):
    with pytest.raises(LoginError, match="lost on its way") as caught:
        await log_in("close", (400, {"error": "invalid_grant"}))
    assert "revoke the lost key" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    "answer",
    [
        {**GRANTED, "access_token": "ghp_other"},
        {**GRANTED, "access_token": "mav_"},
        {**GRANTED, "access_token": "mav_two words"},
        {**GRANTED, "token_type": "mac"},
    ],
)
async def test_what_is_no_key_of_the_service_is_not_taken_for_one(log_in, answer):
    with pytest.raises(LoginError, match="no key of the service") as caught:
        await log_in(answer)
    assert answer["access_token"][4:] not in str(caught.value) or answer["access_token"] == "mav_"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((400, {"error": "invalid_scope"}), "does not grant these scopes"),
        ((404, b"<html>"), "answered 404"),
        ((200, PAGE[1]), "answered 200"),
        ((307, b"", {"location": "/x"}), "redirected"),
        ({"device_code": "canary0code"}, "no code to enter"),
    ],
)
async def test_a_login_that_cannot_begin_says_why(log_in, server, answer, words):
    server.on(BEGIN, answer)
    with pytest.raises(LoginError, match=words):
        await log_in()


@pytest.mark.parametrize("address", ["javascript:alert(1)", "http://a b", "\x1b[2J", "", 5, None])
async def test_a_person_is_not_sent_to_a_strange_address(log_in, server, heard, address):
    server.on(BEGIN, {**STARTED, "verification_uri": address, "verification_uri_complete": address})
    await log_in(GRANTED)
    assert (heard.codes[0].address, heard.codes[0].complete) == (f"{server.url}/device", None)
