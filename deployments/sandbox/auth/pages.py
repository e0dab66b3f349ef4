"""What people see: where they say who they are, let a program in, and make and revoke keys.

The sandbox asks for no password and fears nobody: its people are made up, and only this machine
reaches it. So a cookie names who is looking, as they said.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from callsheet.deployments.sandbox.auth import keys, login
from callsheet.deployments.sandbox.auth.keys import SCOPES
from callsheet.deployments.sandbox.auth.login import (
    CODE_GRANT,
    LONGEST_NAME,
    NO_STORE,
    Client,
    CodeRequest,
    Form,
    OAuthError,
    client_of,
    first,
    form_of,
    normal_code,
    ordered_scopes,
)
from callsheet.deployments.sandbox.database import find
from callsheet.deployments.sandbox.envelope import Refusal, RefusedCall
from callsheet.deployments.sandbox.operations import Call, public

if TYPE_CHECKING:
    from jinja2 import Environment, Template

API_KEYS, AUTHORIZE, DEVICE = "/settings/api-keys", "/api/oauth/authorize", "/device"
ORGANIZATION = "Northlight Studio"
NOTHING_CHOSEN = "Choose at least one permission, or deny the request."
#: What a person is told before granting one: a verb, then what it covers.
SCOPE_MEANINGS = {
    "read": ("See the account", "Videos, characters, webhooks and the credits left."),
    "write": ("Create and change", "Make, edit, regenerate and delete videos. Spends credits."),
    "ai": (
        "Use generation helpers",
        "Scripts, portraits, voices, music, animated images, talking avatars and swaps. "
        "Spends credits.",
    ),
}


class Person(NamedTuple):
    """Someone who can sign in with one click."""

    email: str
    name: str


PEOPLE = (
    Person("ada@northlight.example", "Ada Lindqvist"),
    Person("ben@northlight.example", "Ben Okafor"),
)


@functools.cache
def _templates() -> Environment:
    # Only now: few sandboxes are ever looked at, and every start would pay for the import.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("callsheet.deployments.sandbox.auth"), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    templates.filters["moment"] = _moment
    return templates


def template(name: str) -> Template:
    """Give a page to be rendered, in which whatever is put is escaped."""
    return _templates().get_template(name)


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def _page(
    name: str, *, status: int = 200, email: str = "", here: str = "", **context: object
) -> Response:
    """Render a page for the person with this e-mail address; signing out leads back to `here`."""
    known = {"service": "Video Generation Service", "organization": ORGANIZATION}
    shown = {**known, "email": email, "here": here, "trouble": "", **context}
    return HTMLResponse(template(name).render(shown), status, {"cache-control": "no-store"})


class SignInNeeded(RefusedCall):
    """A page for signed-in people alone; signing in leads on to the page that was wanted."""

    def __init__(self, following: str, trouble: str = "") -> None:
        super().__init__("sign in first")
        self._following = following
        self._trouble = trouble

    def answer(self) -> Response:
        status = 400 if self._trouble else 200
        return _page(
            "sign_in.html", status=status, people=PEOPLE, following=self._following,
            trouble=self._trouble,
        )  # fmt: skip


def _cookie_name(request: Request) -> str:
    # Browsers tell cookies apart by host and not by port: two sandboxes must not sign each
    # other's people out.
    return f"sandbox_session_{request.url.port or 80}"


def _signed_in(call: Call, following: str) -> str:
    """Give the e-mail address of who is looking; have someone without one sign in first."""
    email = unquote(call.request.cookies.get(_cookie_name(call.request), ""))
    if not email:
        raise SignInNeeded(following)
    return email


def _session(call: Call, email: str, following: str) -> Response:
    response = RedirectResponse(following, 303)
    response.set_cookie(_cookie_name(call.request), quote(email), httponly=True, samesite="lax")
    return response


def _explained(scopes: Iterable[str]) -> list[tuple[str, str, str]]:
    return [(scope, *SCOPE_MEANINGS[scope]) for scope in scopes]


@public("style", "GET", "/pages.css")
async def style(_: Call) -> Response:
    """Give the style of every page."""
    sheet = files("callsheet.deployments.sandbox.auth") / "pages.css"
    text = sheet.read_text(encoding="utf-8")
    return Response(text, media_type="text/css", headers={"cache-control": "no-cache"})


@public("sign_in_page", "GET", "/sign-in")
async def sign_in_page(call: Call) -> Response:
    """Ask who is looking."""
    raise SignInNeeded(call.request.query_params.get("next", API_KEYS))


@public("sign_in", "POST", "/sign-in")
async def sign_in(call: Call) -> Response:
    """Remember who is looking."""
    form = await form_of(call.request)
    following, email = first(form, "next") or API_KEYS, login.email_of(first(form, "email"))
    if email is None:
        raise SignInNeeded(following, "That is not an e-mail address: it is name@example.com.")
    return _session(call, email, following)


@public("sign_out", "POST", "/sign-out")
async def sign_out(call: Call) -> Response:
    """Forget who is looking."""
    form = await form_of(call.request)
    return _session(call, "", first(form, "next") or API_KEYS)


@public("api_keys", "GET", "/settings/api-keys")
async def api_keys(call: Call) -> Response:
    """Show the keys that work now, the newest first, and a new one's value this once."""
    return await _show_keys(call, _signed_in(call, API_KEYS))


async def _show_keys(call: Call, email: str, trouble: str = "") -> Response:
    good = [key for key in reversed(call.service.keyring.all()) if key.is_good(call.now)]
    return _page(
        "api_keys.html", status=400 if trouble else 200, email=email, here=API_KEYS, keys=good,
        scopes=_explained(SCOPES), made=call.service.made.pop(email, None), longest=LONGEST_NAME,
        trouble=trouble,
    )  # fmt: skip


@public("make_key", "POST", "/settings/api-keys")
async def make_key(call: Call) -> Response:
    """Make a key of the organization."""
    form, email = await form_of(call.request), _signed_in(call, API_KEYS)
    name, chosen = first(form, "name").strip(), ordered_scopes(form.get("scope", []))
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        trouble = f"Give the key a name of 1 to {LONGEST_NAME} characters."
        return await _show_keys(call, email, trouble)
    if not chosen:
        return await _show_keys(call, email, "Choose at least one permission.")
    key, call.service.made[email] = await call.run(
        keys.issue_key, name=name, scopes=chosen, made_by=email, now=call.now
    )
    call.service.keyring.put(key)
    return RedirectResponse(API_KEYS, 303)


@public("revoke_key", "POST", "/settings/api-keys/revoke")
async def revoke_key(call: Call) -> Response:
    """Revoke a key of the organization."""
    form = await form_of(call.request)
    _signed_in(call, API_KEYS)
    key = await call.run(find, keys.ApiKey, first(form, "key"))
    await call.service.keyring.revoke(call.service.database, key)
    return RedirectResponse(API_KEYS, 303)


def _told(title: str, sentence: str, mood: str, *, status: int = 200, email: str = "") -> Response:
    said = {"title": title, "sentence": sentence, "mood": mood}
    return _page("told.html", status=status, email=email, here=DEVICE, **said)


def _consent(
    email: str, app: str, scopes: Iterable[str], *, here: str, trouble: str = "", **shown: object
) -> Response:
    """Ask a person what a program may do; `here` is the address of this question."""
    known = {"app": app, "asked": _explained(scopes), "place": None, "user_code": None}
    return _page(
        "consent.html", status=400 if trouble else 200, email=email, here=here, trouble=trouble,
        action=here.partition("?")[0], **{**known, **shown},
    )  # fmt: skip


@public("authorize", "GET", "/api/oauth/authorize")
async def authorize(call: Call) -> Response:
    """Ask a person whether the program that sent them here may come in (path 1)."""
    return await _authorize(call, dict(call.request.query_params), {})


@public("answer_request", "POST", "/api/oauth/authorize")
async def answer_request(call: Call) -> Response:
    """Take the person's answer to the program."""
    form = await form_of(call.request)
    answered = {name: form.pop(name, []) for name in ("decision", "grant")}
    return await _authorize(call, {name: first(form, name) for name in form}, answered)


async def _authorize(call: Call, said: Mapping[str, str], answered: Form) -> Response:
    client = await call.run(find, Client, said.get("client_id", ""))
    if client is None or said.get("redirect_uri") not in client.redirect_uris:
        sentence = "Start again from the program: it did not register this address, or itself."
        return _told("This request cannot be trusted", sentence, "bad", status=400)
    try:
        await call.run(client_of, client.id, CODE_GRANT)
        asked = login.read(CodeRequest, said)
    except OAuthError as error:
        return _back(call, said, error.said)
    here = f"{AUTHORIZE}?{urlencode(said)}"
    email, place = _signed_in(call, here), urlsplit(asked.redirect_uri).netloc
    granted = ordered_scopes(set(answered.get("grant", [])) & set(asked.scopes))
    approves = first(answered, "decision") == "approve"
    if answered and not approves:
        no = {"error": "access_denied", "error_description": "The user declined."}
        return _back(call, said, no)
    if not granted or not approves:
        trouble = NOTHING_CHOSEN if approves else ""
        more: dict[str, Any] = {"hidden": said.items(), "place": place, "trouble": trouble}
        return _consent(email, client.name, asked.scopes, here=here, **more)
    until = call.now + call.service.lifetimes.code
    code = await call.run(
        login.grant_code, asked, client, granted=granted, email=email, until=until
    )
    return _back(call, said, {"code": code})


def _back(call: Call, said: Mapping[str, str], answer: Mapping[str, str]) -> Response:
    """Send a person back to the program with an answer (the issuer: RFC 9207)."""
    state = {"state": said["state"]} if "state" in said else {}
    query, uri = urlencode({**answer, **state, "iss": call.service.origin}), said["redirect_uri"]
    return RedirectResponse(f"{uri}{'&' if '?' in uri else '?'}{query}", 303, NO_STORE)


@public("device", "GET", "/device")
async def device(call: Call) -> Response:
    """Ask for the code that a program shows, then whether it may come in (paths 2 and 3)."""
    typed = call.request.query_params.get("user_code", "").strip()
    if typed:
        return await _answer_code(call, typed, {})
    return _page("enter_code.html", email=_signed_in(call, DEVICE), here=DEVICE, typed="")


@public("answer_code", "POST", "/device")
async def answer_code(call: Call) -> Response:
    """Write down what a person says about the program behind a code."""
    form = await form_of(call.request)
    return await _answer_code(call, first(form, "user_code"), form)


async def _answer_code(call: Call, typed: str, form: Form) -> Response:
    code, approves = normal_code(typed), first(form, "decision") == "approve"
    here = f"{DEVICE}?user_code={code}"
    email = _signed_in(call, here)
    try:
        approval = await call.run(login.open_to, code, email, now=call.now)
        granted = set(form.get("grant", [])) & set(approval.scopes) if approves else set()
        if not form or (approves and not granted):
            more: dict[str, Any] = {"hidden": [("user_code", code)], "user_code": code}
            more["trouble"] = NOTHING_CHOSEN if approves else ""
            return _consent(email, approval.app, approval.scopes, here=here, **more)
        await call.run(login.answer, code, email, granted, now=call.now)
    except Refusal as refusal:
        said = {"typed": code, "trouble": refusal.message}
        return _page("enter_code.html", status=refusal.status, email=email, here=DEVICE, **said)
    if approves:
        sentence = "Go back to it: it goes on by itself. You can close this page."
        return _told(f"{approval.app} is connected", sentence, "good", email=email)
    sentence = "It got no key, and nothing was spent. You can close this page."
    return _told(f"{approval.app} was turned away", sentence, "bad", email=email)
