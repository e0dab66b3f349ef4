"""Which addresses a webhook may have: public and https, in whatever disguise they come."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.sandbox.receiver import receiving

PUBLIC = [
    "https://example.com", "https://hooks.example.com:8443/a/b?c=d&e=%20f",
    "HTTPS://EXAMPLE.COM/Hook", "https://example.com./hook",
    "https://xn--bcher-kva.example/hook", "https://8.8.8.8/hook",
    "https://[2606:4700:4700::1111]/hook", "https://[::ffff:8.8.8.8]/hook",
    "https://localhost.example.com/hook", "https://internal.example.com/hook",
]  # fmt: skip
NO_HTTPS_ADDRESS = [
    "http://example.com/hook", "//example.com/hook", "example.com/hook", "javascript:alert(1)",
    "", "https://", "https:///hook", "https://:443/hook", "https://example.com:0/hook",
    "https://example.com:70000/hook", "https://example.com:port/hook",
    "https://user:password@example.com/hook", "https://example.com/hook#part",
    "https://example.com/ho ok", "https://example.com/\nhook",
    "https://example.com\\@127.0.0.1/hook", "https://bücher.example/hook",
    "https://１２７.0.0.1/hook", "https://127%2e0.0.1/hook", "https://[::1/hook",
    "https://[example.com]/hook", "https://example.com/" + "a" * 2048,
]  # fmt: skip
LOOPBACK = [
    "LOCALHOST", "localhost.", "127.0.0.1", "127.9.9.9", "[::1]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:7f00:1]",
]  # fmt: skip
PRIVATE = [
    "hook.localhost", "printer.local", "vault.internal", "nas.home.arpa", "intranet", "0.0.0.0",
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "127.1", "0", "2130706433", "0x7f000001",
    "0177.0.0.1", "192.168.257", "1.2.3.4.5", "999.1.1.1", "[::]", "[fe80::1%25eth0]",
    "[fd12::1]", "[ff02::1]", "[2001:db8::1]", "[::ffff:10.0.0.1]",
]  # fmt: skip


def create(running: Any, url: str) -> Any:
    return running.post("/webhooks", url=url, events=["video.ready"])


@pytest.mark.parametrize("url", PUBLIC)
def test_a_public_https_address_is_taken_as_it_is(instant, url):
    made = create(instant, url)
    assert (made.status_code, made.json()["data"]["url"]) == (201, url)
    assert instant.client.delete(f"/webhooks/{made.json()['data']['id']}").status_code == 200


@pytest.mark.parametrize(
    "url", [*NO_HTTPS_ADDRESS, *(f"https://{host}/hook" for host in (*LOOPBACK, *PRIVATE))]
)
def test_an_address_that_is_not_public_and_https_is_refused(instant, url):
    error = create(instant, url).json()["error"]
    assert (error["code"], error["retryable"]) == ("invalid_request", False)
    assert error["message"].startswith("url: must ")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_loopback_is_open_to_tests_that_ask_for_it_and_nothing_else(hooked, scheme):
    for host in LOOPBACK:
        made = create(hooked, f"{scheme}://{host}:8790/hook")
        assert made.status_code == 201
        hooked.client.delete(f"/webhooks/{made.json()['data']['id']}")
    for host in (*PRIVATE, "user@127.0.0.1"):
        assert create(hooked, f"{scheme}://{host}/hook").status_code == 400
    for url in ("http://8.8.8.8/hook", "ftp://127.0.0.1/hook", "http://127.0.0.1/hook#part"):
        assert create(hooked, url).status_code == 400


def test_an_update_is_judged_like_a_create(instant):
    made = create(instant, "https://example.com/hook").json()["data"]
    refused = instant.client.patch(f"/webhooks/{made['id']}", json={"url": "https://10.0.0.1/"})
    assert refused.status_code == 400
    assert instant.data(f"/webhooks/{made['id']}")["url"] == made["url"]


def test_an_address_is_judged_again_before_it_is_sent_to(start):
    with receiving() as receiver:
        first = start("--render", "instant", "--allow-loopback-webhooks")
        webhook = create(first, receiver.url).json()["data"]["id"]
        assert first.post(f"/webhooks/{webhook}/test").json()["data"]["delivered"]
        first.kill()
        strict = start("--render", "instant")
        result = strict.post(f"/webhooks/{webhook}/test").json()["data"]
        assert (result["delivered"], result["status"]) == (False, None)
        assert result["error"] == "Its address is refused: it must be an https URL."
        assert len(receiver.got) == 1
