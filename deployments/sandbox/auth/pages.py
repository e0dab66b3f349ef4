"""What people see: where they enter a code, and let a program in.

The sandbox asks for no password and fears nobody: its people are made up, and only this machine
reaches it. Where it matters who answers, they say so with their answer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, RedirectResponse, Response

from callsheet.deployments.sandbox.auth import login
from callsheet.deployments.sandbox.auth.login import (
    CODE_GRANT,
    NO_STORE,
    Client,
    CodeRequest,
    OAuthError,
    client_of,
    form_of,
    normal_code,
    ordered_scopes,
)
from callsheet.deployments.sandbox.database import find
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.operations import Call, public

if TYPE_CHECKING:
    from jinja2 import Environment, Template

ORGANIZATION = "Northlight Studio"
AUTHORIZE, DEVICE = "/api/oauth/authorize", "/device"
UNANSWERED = QueryParams()
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


@functools.cache
def _templates() -> Environment:
    # Only now: few sandboxes are ever looked at, and every start would pay for the import.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("callsheet.deployments.sandbox.auth"), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def template(name: str) -> Template:
    """Give a page to be rendered, in which whatever is put is escaped."""
    return _templates().get_template(name)


def _page(name: str, *, status: int = 200, **context: object) -> Response:
    known = {"service": "Video Generation Service", "organization": ORGANIZATION, "trouble": ""}
    shown = template(name).render({**known, **context})
    return HTMLResponse(shown, status, {"cache-control": "no-store"})


@public("style", "GET", "/pages.css")
async def style(_: Call) -> Response:
    """Give the style of every page."""
    sheet = files("callsheet.deployments.sandbox.auth") / "pages.css"
    text = sheet.read_text(encoding="utf-8")
    return Response(text, media_type="text/css", headers={"cache-control": "no-cache"})


def _told(title: str, sentence: str, mood: str, *, status: int = 200) -> Response:
    return _page("told.html", status=status, title=title, sentence=sentence, mood=mood)


def _granted(form: QueryParams, asked: Iterable[str]) -> tuple[str, ...] | None:
    """Read an answer: the scopes granted, none of them for no; None where it grants nothing."""
    if form.get("decision") != "approve":
        return ()
    return ordered_scopes(set(form.getlist("grant")) & set(asked)) or None


def _consent(
    app: str,
    scopes: Iterable[str],
    hidden: Iterable[tuple[str, str]],
    *,
    again: bool,
    **shown: object,
) -> Response:
    """Ask a person what a program may do; `again` after an answer that grants nothing."""
    trouble = "Choose at least one permission, or deny the request." if again else ""
    asked = [(scope, *SCOPE_MEANINGS[scope]) for scope in scopes]
    known = {"place": "", "user_code": "", "asks_who": False, "trouble": trouble, **shown}
    status = 400 if again else 200
    return _page("consent.html", status=status, app=app, asked=asked, hidden=hidden, **known)


@public("authorize", "GET", AUTHORIZE)
async def authorize(call: Call) -> Response:
    """Ask a person whether the program that sent them here may come in (path 1)."""
    return await _authorize(call, dict(call.request.query_params), UNANSWERED)


@public("answer_request", "POST", AUTHORIZE)
async def answer_request(call: Call) -> Response:
    """Take the person's answer to the program."""
    form = await form_of(call.request)
    said = {name: form[name] for name in form if name not in ("decision", "grant")}
    return await _authorize(call, said, form)


async def _authorize(call: Call, said: Mapping[str, str], answered: QueryParams) -> Response:
    client = await call.run(find, Client, said.get("client_id", ""))
    if client is None or said.get("redirect_uri") not in client.redirect_uris:
        sentence = "Start again from the program: it did not register this address, or itself."
        return _told("This request cannot be trusted", sentence, "bad", status=400)
    try:
        await call.run(client_of, client.id, CODE_GRANT)
        asked = login.read(CodeRequest, said)
    except OAuthError as error:
        return _back(call, said, error.said)
    granted = _granted(answered, asked.scopes) if answered else None
    if granted is None:
        shown = {"place": urlsplit(asked.redirect_uri).netloc, "action": AUTHORIZE}
        return _consent(client.name, asked.scopes, said.items(), again=bool(answered), **shown)
    if not granted:
        no = {"error": "access_denied", "error_description": "The user declined."}
        return _back(call, said, no)
    until = call.now + call.service.lifetimes.code
    code = await call.run(login.grant_code, asked, client, granted=granted, until=until)
    return _back(call, said, {"code": code})


def _back(call: Call, said: Mapping[str, str], answer: Mapping[str, str]) -> Response:
    """Send a person back to the program with an answer (the issuer: RFC 9207)."""
    state = {"state": said["state"]} if "state" in said else {}
    query, uri = urlencode({**answer, **state, "iss": call.service.origin}), said["redirect_uri"]
    return RedirectResponse(f"{uri}{'&' if '?' in uri else '?'}{query}", 303, NO_STORE)


@public("device", "GET", DEVICE)
async def device(call: Call) -> Response:
    """Ask for the code that a program shows, then whether it may come in (paths 2 and 3)."""
    typed = call.request.query_params.get("user_code", "").strip()
    return (
        await _answer_code(call, typed, UNANSWERED) if typed else _page("enter_code.html", typed="")
    )


@public("answer_code", "POST", DEVICE)
async def answer_code(call: Call) -> Response:
    """Write down what a person says about the program behind a code."""
    form = await form_of(call.request)
    return await _answer_code(call, form.get("user_code", ""), form)


async def _answer_code(call: Call, typed: str, form: QueryParams) -> Response:
    code = normal_code(typed)
    try:
        approval = await call.run(login.open_to, code, now=call.now)
        granted = _granted(form, approval.scopes) if form else None
        if granted is None:
            shown = {"user_code": code, "action": DEVICE, "asks_who": bool(approval.email)}
            hidden = [("user_code", code)]
            return _consent(approval.app, approval.scopes, hidden, again=bool(form), **shown)
        email = form.get("email", "")
        await call.run(login.answer, code, email, granted, now=call.now)
    except Refusal as refusal:
        said = {"typed": code, "trouble": refusal.message}
        return _page("enter_code.html", status=refusal.status, **said)
    if granted:
        sentence = "Go back to it: it goes on by itself. You can close this page."
        return _told(f"{approval.app} is connected", sentence, "good")
    sentence = "It got no key, and nothing was spent. You can close this page."
    return _told(f"{approval.app} was turned away", sentence, "bad")
