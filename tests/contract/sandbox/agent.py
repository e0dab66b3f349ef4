"""A program that wants in, as the tests play it: it knows the service's addresses and no more."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CLAIM_GRANT = "urn:service:agent-auth:grant-type:claim"
CALLBACK = "http://127.0.0.1:5/callback?from=service"
ADA, BEN = "ada@northlight.example", "ben@northlight.example"


@dataclass
class Agent:
    """A program, and the addresses of one sandbox."""

    ready: dict[str, Any]
    http: httpx.Client

    def register(self, **members: Any) -> httpx.Response:
        return self.http.post("/api/oauth/register", json=members)

    def client(self, **members: Any) -> str:
        said = {"client_name": "Test program", "redirect_uris": [CALLBACK], **members}
        return str(self.register(**said).json()["client_id"])

    def device(self, **form: str) -> dict[str, Any]:
        answer = self.http.post("/api/oauth/device_authorization", data=form)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def claim(self, email: str = ADA, **members: str) -> dict[str, Any]:
        said = {"type": "service_auth", "login_hint": email, "client_name": "Agent", **members}
        answer = self.http.post("/agent/identity", json=said)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def fresh_code(self, claim_token: str) -> httpx.Response:
        return self.http.post("/agent/identity/claim", json={"claim_token": claim_token})

    def token(self, **form: str) -> httpx.Response:
        return self.http.post("/api/oauth/token", data=form)

    def poll(self, code: str, **form: str) -> httpx.Response:
        return self.token(grant_type=DEVICE_GRANT, device_code=code, **form)

    def poll_claim(self, claim_token: str) -> httpx.Response:
        return self.token(grant_type=CLAIM_GRANT, claim_token=claim_token)

    def approve(self, user_code: str, **members: Any) -> httpx.Response:
        """Have somebody answer without a browser, by the sandbox's own door."""
        return self.http.post("/_sandbox/approve", json={"user_code": user_code, **members})

    def logged_in(self, **members: Any) -> str:
        """Come by a key as fast as can be."""
        asked = self.device()
        assert self.approve(asked["user_code"], **members).status_code == 200
        return str(self.poll(asked["device_code"]).json()["access_token"])

    def call(self, token: str, path: str = "/credits") -> httpx.Response:
        """Call the REST API with a key."""
        headers = {"authorization": f"Bearer {token}"}
        return self.http.get(self.ready["base_url"] + path, headers=headers)


@contextmanager
def agent_of(running: Any) -> Iterator[Agent]:
    """Make a program for one running sandbox."""
    with httpx.Client(base_url=running.ready["auth_url"]) as http:
        yield Agent(running.ready, http)


def error_of(answer: httpx.Response) -> str:
    """Give the error of a refusal that is as RFC 6749 has it."""
    said = answer.json()
    assert set(said) <= {"error", "error_description", "interval"}
    assert said["error_description"].isascii()
    assert answer.headers["cache-control"] == "no-store"
    return str(said["error"])


def verifier_and_challenge() -> tuple[str, str]:
    """Make the two halves of PKCE."""
    verifier = secrets.token_urlsafe(48)
    hashed = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()


def request_for_a_code(client_id: str, challenge: str) -> dict[str, str]:
    """Give the query of an authorization request."""
    return {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
