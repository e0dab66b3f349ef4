"""Owns what people see: who they are, made up as the sandbox's people are; who is looking, by a
signed cookie, and the mark that a form was ours (CSRF); and how a page is made.

Under a page's headers no script can run in it, no one can frame it, and nothing of it is kept or
told to the next site.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, NamedTuple

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from callsheet.deployments.sandbox.auth.oauth import NO_STORE, OAuthError, pairs_of
from callsheet.deployments.sandbox.envelope import RefusedCall

ORGANIZATION = "Northlight Studio"
LONGEST_EMAIL = 254
_EMAIL = re.compile(r"[^@\s,;<>\"']+@[^@\s,;<>\"']+")
SESSION_LIFETIME = 12 * 3600.0
SERVICE = "Video Generation Service"


class Person(NamedTuple):
    """Someone who can sign in."""

    email: str
    name: str


PEOPLE = (
    Person("ada@northlight.example", "Ada Lindqvist"),
    Person("ben@northlight.example", "Ben Okafor"),
)


def person(email: str) -> Person:
    """Give the person with this e-mail address; anybody else is called by the address."""
    return next((one for one in PEOPLE if one.email == email), Person(email, email))


def email_of(said: str) -> str | None:
    """Read an e-mail address, the same however it is capitalized; None if it is none."""
    email = said.strip().casefold()
    good = len(email) <= LONGEST_EMAIL and email.isprintable() and _EMAIL.fullmatch(email)
    return email if good else None


STYLE = (files("callsheet.deployments.sandbox.auth") / "pages.css").read_text(encoding="utf-8")

_templates = Environment(
    loader=PackageLoader("callsheet.deployments.sandbox.auth"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def shown_page(
    template: str, *, status: int = 200, form_leads_to: str = "", **context: object
) -> HTMLResponse:
    """Render a page. `form_leads_to`: an origin its form may end at, besides this one."""
    html = _templates.get_template(template).render(
        {"service": SERVICE, "visitor": None, **context}
    )
    policy = (
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; "
        f"frame-ancestors 'none'; form-action 'self' {form_leads_to}".rstrip()
    )
    return HTMLResponse(
        html,
        status,
        {
            "content-security-policy": policy,
            "x-frame-options": "DENY",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cache-control": "no-store",
        },
    )


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


_templates.filters["moment"] = _moment


class PageRefused(RefusedCall):
    """A refusal to a person: a title and a sentence that says what to do next."""

    def __init__(self, title: str, sentence: str, *, status: int = 400) -> None:
        super().__init__(sentence)
        self._shown: dict[str, Any] = {"title": title, "sentence": sentence, "status": status}

    def answer(self) -> Response:
        return shown_page("told.html", mood="bad", **self._shown)


class SentBack(RefusedCall):
    """A refusal that the person's browser takes back to the program that sent it here."""

    def __init__(self, location: str) -> None:
        super().__init__("sent back to the program")
        self._location = location

    def answer(self) -> Response:
        return RedirectResponse(self._location, 303, NO_STORE)


class SignInNeeded(RefusedCall):
    """A page for signed-in people alone; signing in leads on to the page that was wanted."""

    def __init__(self, visitor: Visitor, following: str) -> None:
        super().__init__("sign in first")
        self._visitor = visitor
        self._following = following

    def answer(self) -> Response:
        return self._visitor.show_sign_in(self._following)


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Someone at a page. `person` is None until they sign in; `csrf` goes into each form."""

    request: Request
    cookie: str
    csrf: str
    person: Person | None
    form: Sequence[tuple[str, str]] = ()

    def first(self, name: str) -> str:
        """Give the first value of a field of the form; an empty text if it was not sent."""
        return next((value for said, value in self.form if said == name), "")

    def every(self, name: str) -> list[str]:
        """Give every value of a field of the form."""
        return [value for said, value in self.form if said == name]

    def signed_in(self, following: str) -> Person:
        """Give the person; have someone without a name sign in first."""
        if self.person is None:
            raise SignInNeeded(self, following)
        return self.person

    def show(self, template: str, **context: Any) -> Response:
        """Render a page for them; `here` is where it comes from, to come back to."""
        url = self.request.url
        here = url.path + (f"?{url.query}" if url.query else "")
        return self.keep(shown_page(template, **{"visitor": self, "here": here, **context}))

    def show_sign_in(self, following: str, *, trouble: str = "", status: int = 200) -> Response:
        """Show the sign-in page, which leads on to the page that was wanted."""
        said = {"people": PEOPLE, "following": following, "trouble": trouble}
        return self.show("sign_in.html", status=status, **said)

    def keep(self, response: Response) -> Response:
        """Give the browser its cookie: no script can read it, no other site's form sends it."""
        name = _cookie_name(self.request)
        if self.request.cookies.get(name) != self.cookie:
            response.set_cookie(name, self.cookie, httponly=True, samesite="lax")
        return response


class Sessions:
    """Makes and reads the cookie. Nothing is kept: what the signature covers is believed."""

    def __init__(self, secret: bytes, *, now: Callable[[], float]) -> None:
        self._secret = secret
        self._now = now

    def visitor(self, request: Request) -> Visitor:
        """Say who is looking; someone without a good cookie gets a fresh one."""
        cookie = request.cookies.get(_cookie_name(request), "")
        email = self._read(cookie)
        if email is None:
            return self.begin("", request)
        return self._visitor(cookie, email, request)

    def begin(self, email: str, request: Request) -> Visitor:
        """Make a session again, as at signing in and out: what was known of the old one is void."""
        until, nonce = self._now() + SESSION_LIFETIME, secrets.token_hex(16)
        said = json.dumps({"email": email, "until": until, "nonce": nonce})
        body = base64.urlsafe_b64encode(said.encode()).decode()
        return self._visitor(f"{body}.{self._sign('session', body)}", email, request)

    async def form(self, request: Request) -> Visitor:
        """Read a form that one of our pages sent. Raises PageRefused for any other."""
        visitor = self.visitor(request)
        with contextlib.suppress(OAuthError):
            visitor = replace(visitor, form=await pairs_of(request))
        if not hmac.compare_digest(visitor.first("csrf").encode(), visitor.csrf.encode()):
            raise PageRefused(
                "This form has grown old",
                "Nothing was done. Go back, load the page again, and repeat what you did.",
                status=403,
            )
        return visitor

    def _visitor(self, cookie: str, email: str, request: Request) -> Visitor:
        csrf, who = self._sign("csrf", cookie), person(email) if email else None
        return Visitor(request=request, cookie=cookie, csrf=csrf, person=who)

    def _read(self, cookie: str) -> str | None:
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._sign("session", body).encode(), signature.encode()):
            return None
        said = json.loads(base64.urlsafe_b64decode(body))
        return str(said["email"]) if said["until"] > self._now() else None

    def _sign(self, purpose: str, said: str) -> str:
        return hmac.new(self._secret, f"{purpose}\n{said}".encode(), hashlib.sha256).hexdigest()


def _cookie_name(request: Request) -> str:
    # Browsers tell cookies apart by host and not by port: two sandboxes must not sign each
    # other's people out.
    return f"sandbox_session_{request.url.port or 80}"
