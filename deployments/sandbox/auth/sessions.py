"""Owns who is looking at a page: a signed cookie, and the mark that a form was ours (CSRF)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import HTMLResponse, Response

from deployments.sandbox.auth.fields import pairs_of
from deployments.sandbox.auth.pages import shown
from deployments.sandbox.auth.people import Person, person
from deployments.sandbox.auth.refusals import OAuthError, PageRefused

LIFETIME = 12 * 3600.0

AnyResponse = TypeVar("AnyResponse", bound=Response)
Form = list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Somebody at a page. `person` is None until they sign in; `csrf` goes into each form."""

    cookie: str
    csrf: str
    person: Person | None


class Sessions:
    """Makes and reads the cookie. Nothing is kept: what the signature covers is believed."""

    def __init__(self, secret: bytes, *, now: Callable[[], float]) -> None:
        self._secret = secret
        self._now = now

    def visitor(self, request: Request) -> Visitor:
        """Say who is looking; somebody without a good cookie gets a fresh one."""
        cookie = request.cookies.get(_name(request), "")
        email = self._read(cookie)
        if email is None:
            return self.begin("")
        return self._visitor(cookie, email)

    def begin(self, email: str) -> Visitor:
        """Make a session anew, as at signing in and out: what was known of the old one is void."""
        said = {"email": email, "until": self._now() + LIFETIME, "nonce": secrets.token_hex(16)}
        body = base64.urlsafe_b64encode(json.dumps(said).encode()).decode()
        return self._visitor(f"{body}.{self._sign('session', body)}", email)

    def show(
        self, request: Request, visitor: Visitor, template: str, **context: Any
    ) -> HTMLResponse:
        """Render a page for somebody; `here` is where it comes from, to come back to."""
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return self.keep(
            visitor, request, shown(template, **{"visitor": visitor, "here": here, **context})
        )

    def keep(self, visitor: Visitor, request: Request, response: AnyResponse) -> AnyResponse:
        """Give the browser its cookie: no script can read it, no other site's form sends it."""
        if request.cookies.get(_name(request)) != visitor.cookie:
            response.set_cookie(_name(request), visitor.cookie, httponly=True, samesite="lax")
        return response

    async def form(self, request: Request) -> tuple[Visitor, Form]:
        """Read a form that one of our pages sent. Raises PageRefused for any other."""
        visitor = self.visitor(request)
        try:
            form = await pairs_of(request)
        except OAuthError:
            form = []
        if not hmac.compare_digest(one(form, "csrf").encode(), visitor.csrf.encode()):
            raise PageRefused(
                "This form has grown old",
                "Nothing was done. Go back, load the page again, and repeat what you did.",
                status=403,
            )
        return visitor, form

    def _visitor(self, cookie: str, email: str) -> Visitor:
        csrf = self._sign("csrf", cookie)
        return Visitor(cookie=cookie, csrf=csrf, person=person(email) if email else None)

    def _read(self, cookie: str) -> str | None:
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._sign("session", body).encode(), signature.encode()):
            return None
        said = json.loads(base64.urlsafe_b64decode(body))
        return str(said["email"]) if said["until"] > self._now() else None

    def _sign(self, purpose: str, said: str) -> str:
        return hmac.new(self._secret, f"{purpose}\n{said}".encode(), hashlib.sha256).hexdigest()


def one(form: Form, name: str) -> str:
    """Give the first value of a field; an empty text if it was not sent."""
    return next((value for said, value in form if said == name), "")


def every(form: Form, name: str) -> list[str]:
    """Give every value of a field."""
    return [value for said, value in form if said == name]


def _name(request: Request) -> str:
    # Browsers tell cookies apart by host and not by port: two sandboxes must not sign each
    # other's people out.
    return f"sandbox_session_{request.url.port or 80}"
