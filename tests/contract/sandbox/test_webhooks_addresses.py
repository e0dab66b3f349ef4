"""Which addresses a webhook may have: public and https, in whatever disguise they come."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.sandbox.receiver import receiving

PUBLIC = [
    "https://example.com/hook",
    "https://example.com",
    "https://hooks.example.com:8443/a/b?c=d&e=%20f",
    "HTTPS://EXAMPLE.COM/Hook",
    "https://example.com./hook",
    "https://xn--bcher-kva.example/hook",
    "https://8.8.8.8/hook",
    "https://[2606:4700:4700::1111]/hook",
    "https://[::ffff:8.8.8.8]/hook",
    "https://localhost.example.com/hook",
    "https://internal.example.com/hook",
]
NOT_HTTPS = [
    "http://example.com/hook",
    "ftp://example.com/hook",
    "//example.com/hook",
    "example.com/hook",
    "javascript:alert(1)",
    "file:///etc/passwd",
]
MALFORMED = [
    "",
    "https://",
    "https:///hook",
    "https://:443/hook",
    "https://example.com:0/hook",
    "https://example.com:70000/hook",
    "https://example.com:port/hook",
    "https://user@example.com/hook",
    "https://user:password@example.com/hook",
    "https://example.com/hook#part",
    "https://example.com/ho ok",
    "https://example.com/\nhook",
    "https://example.com\\@127.0.0.1/hook",
    "https://bücher.example/hook",
    "https://１２７.0.0.1/hook",
    "https://127%2e0.0.1/hook",
    "https://exa mple.com/hook",
    "https://[::1/hook",
    "https://[example.com]/hook",
    "https://example.com/" + "a" * 2048,
]
LOOPBACK = [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "127.0.0.1",
    "127.9.9.9",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
]
PRIVATE = [
    "hook.localhost",
    "printer.local",
    "vault.internal",
    "nas.home.arpa",
    "intranet",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "127.1",
    "0",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "192.168.257",
    "1.2.3.4.5",
    "999.1.1.1",
    "[::]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fc00::1]",
    "[fd12::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
]


def create(running: Any, url: str) -> Any:
    return running.client.post("/webhooks", json={"url": url, "events": ["video.ready"]})


def assert_refused(running: Any, url: str) -> None:
    refused = create(running, url)
    assert refused.status_code == 400, refused.text
    error = refused.json()["error"]
    assert (error["code"], error["retryable"]) == ("invalid_request", False)
    assert error["message"].startswith("url: must ")


@pytest.mark.parametrize("url", PUBLIC)
def test_a_public_https_address_is_taken_as_it_is(instant: Any, url: str) -> None:
    made = create(instant, url)
    assert made.status_code == 201, made.text
    assert made.json()["data"]["url"] == url
    assert instant.client.delete(f"/webhooks/{made.json()['data']['id']}").status_code == 200


@pytest.mark.parametrize("url", [*NOT_HTTPS, *MALFORMED])
def test_an_address_that_is_not_https_or_not_a_url_is_refused(instant: Any, url: str) -> None:
    assert_refused(instant, url)


@pytest.mark.parametrize("host", [*LOOPBACK, *PRIVATE])
def test_a_host_that_is_not_public_is_refused(instant: Any, host: str) -> None:
    assert_refused(instant, f"https://{host}/hook")


@pytest.mark.parametrize("host", LOOPBACK)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_loopback_is_open_to_tests_that_ask_for_it(hooked: Any, scheme: str, host: str) -> None:
    made = create(hooked, f"{scheme}://{host}:8790/hook")
    assert made.status_code == 201
    hooked.client.delete(f"/webhooks/{made.json()['data']['id']}")


@pytest.mark.parametrize(
    "url",
    [
        *(f"https://{host}/hook" for host in PRIVATE),
        *("http://example.com/hook", "http://8.8.8.8/hook", "ftp://127.0.0.1/hook"),
        *("http://user@127.0.0.1/hook", "http://127.0.0.1/hook#part"),
    ],
)
def test_loopback_opens_nothing_else(hooked: Any, url: str) -> None:
    assert_refused(hooked, url)


def test_an_update_is_judged_like_a_create(instant: Any) -> None:
    made = create(instant, "https://example.com/hook").json()["data"]
    refused = instant.client.patch(f"/webhooks/{made['id']}", json={"url": "https://10.0.0.1/"})
    assert refused.status_code == 400
    assert instant.client.get(f"/webhooks/{made['id']}").json()["data"]["url"] == made["url"]


def test_an_address_is_judged_again_before_it_is_sent_to(start: Any) -> None:
    with receiving() as receiver:
        first = start("--render", "instant", "--allow-loopback-webhooks")
        webhook = create(first, receiver.url).json()["data"]["id"]
        assert first.client.post(f"/webhooks/{webhook}/test").json()["data"]["delivered"]
        first.kill()
        strict = start("--render", "instant")
        result = strict.client.post(f"/webhooks/{webhook}/test").json()["data"]
        assert (result["delivered"], result["status"]) == (False, None)
        assert result["error"] == "Its address is refused: it must be an https URL."
        assert len(receiver.got) == 1
