"""Pages to sign in, manage keys, and let a program in.

A key's value is shown once, on the page after it was made, and is nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from callsheet.deployments.sandbox.auth import clients, grants, oauth, pages
from callsheet.deployments.sandbox.auth.clients import LONGEST_NAME, ApiKey
from callsheet.deployments.sandbox.auth.grants import AccessRequest
from callsheet.deployments.sandbox.auth.oauth import NO_STORE, CodeApproval, Guesses, normal_code
from callsheet.deployments.sandbox.auth.pages import Sessions, Visitor
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.routes.programs import take_back

API_KEYS = "/settings/api-keys"


def router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)
    sessions = Sessions(container.keyring.signing, now=container.now)
    # What is still to be shown once, by the session that made it.
    made: dict[str, str] = {}

    @routes.get("/pages.css")
    async def style() -> Response:
        return Response(pages.STYLE, media_type="text/css", headers={"cache-control": "no-cache"})

    @routes.get("/sign-in")
    async def sign_in_page(request: Request) -> Response:
        following = _local(request.query_params.get("next", API_KEYS))
        return sessions.visitor(request).show_sign_in(following)

    @routes.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        visitor = await sessions.form(request)
        following, email = _local(visitor.first("next")), pages.email_of(visitor.first("email"))
        if email is None:
            trouble = "That is not an e-mail address. It looks like name@example.com."
            return visitor.show_sign_in(following, trouble=trouble, status=400)
        return sessions.begin(email, request).keep(RedirectResponse(following, 303))

    @routes.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        following = _local((await sessions.form(request)).first("next"))
        return sessions.begin("", request).keep(RedirectResponse(following, 303))

    async def show(visitor: Visitor, *, trouble: str = "", status: int = 200) -> Response:
        return visitor.show(
            "api_keys.html",
            status=status,
            here=API_KEYS,
            organization=pages.ORGANIZATION,
            keys=await _good_keys(container),
            scopes=oauth.explained(oauth.SCOPES),
            made=made.pop(visitor.cookie, None),
            longest=LONGEST_NAME,
            trouble=trouble,
        )

    @routes.get(API_KEYS)
    async def api_keys(request: Request) -> Response:
        visitor = sessions.visitor(request)
        visitor.signed_in(API_KEYS)
        return await show(visitor)

    @routes.post(API_KEYS)
    async def make_key(request: Request) -> Response:
        visitor = await sessions.form(request)
        email, name = visitor.signed_in(API_KEYS).email, visitor.first("name").strip()
        chosen = oauth.ordered_scopes(visitor.every("scope"))
        if trouble := _trouble(name, chosen):
            return await show(visitor, trouble=trouble, status=400)
        key, made[visitor.cookie] = await container.database.run(
            clients.issue_key, name=name, scopes=chosen, made_by=email, now=container.now()
        )
        container.keyring.put(key)
        return RedirectResponse(API_KEYS, 303)

    @routes.post(f"{API_KEYS}/revoke")
    async def revoke_key(request: Request) -> Response:
        visitor = await sessions.form(request)
        visitor.signed_in(API_KEYS)
        await take_back(container, visitor.first("key"))
        return RedirectResponse(API_KEYS, 303)

    return routes


async def _good_keys(container: Container) -> list[ApiKey]:
    """Give the keys that work now, the newest first."""
    await container.keyring.keep_uses(container.database)
    now = container.now()
    return [
        key
        for key in reversed(await container.database.run(clients.all_keys))
        if key.revoked_at is None and (key.expires_at is None or key.expires_at > now)
    ]


def _trouble(name: str, chosen: tuple[str, ...]) -> str:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        return f"Give the key a name of 1 to {LONGEST_NAME} characters."
    return "" if chosen else "Choose at least one permission."


def _local(path: str) -> str:
    """Keep to this origin: no address in a link may send someone elsewhere after signing in."""
    good = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if good else API_KEYS


# Owns the pages where a person lets a program in, or does not: one with a redirect (path 1), or
# one that shows a user code (paths 2 and 3).


AUTHORIZE = "/api/oauth/authorize"
DEVICE = "/device"
NOTHING_CHOSEN = "Choose at least one permission, or deny the request."
Pairs = Sequence[tuple[str, str]]


def consent_router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)
    sessions = Sessions(container.keyring.signing, now=container.now)
    guesses = Guesses(container.lifetimes.code)

    async def read(pairs: Pairs) -> AccessRequest:
        return await container.database.run(grants.read_request, pairs, issuer=container.origin)

    @routes.get(AUTHORIZE)
    async def authorize(request: Request) -> Response:
        pairs = request.query_params.multi_items()
        asking, visitor = await read(pairs), sessions.visitor(request)
        visitor.signed_in(_again(pairs))
        return _show_request(visitor, asking, pairs)

    @routes.post(AUTHORIZE)
    async def answer_request(request: Request) -> Response:
        visitor = await sessions.form(request)
        asking = await read(visitor.form)
        email = visitor.signed_in(_again(visitor.form)).email
        if visitor.first("decision") != "approve":
            return _back(
                asking.answered(error="access_denied", error_description="The user declined.")
            )
        granted = oauth.ordered_scopes(set(visitor.every("grant")) & set(asking.scopes))
        if not granted:
            return _show_request(visitor, asking, visitor.form, trouble=NOTHING_CHOSEN)
        code = await container.database.run(
            grants.grant_code,
            asking,
            granted=granted,
            email=email,
            lifetimes=container.lifetimes,
            now=container.now(),
        )
        return _back(asking.answered(code=code))

    async def find(typed: str, email: str) -> CodeApproval:
        now = container.now()
        if guesses.spent(email, now=now):
            message = "Too many wrong codes. Wait ten minutes, then ask the program for a new one."
            raise Refusal(429, "too_many_guesses", message)
        try:
            return await container.database.run(oauth.open_to, normal_code(typed), email, now=now)
        except Refusal as refusal:
            if refusal.status == 404:
                guesses.wrong(email, now=now)
            raise

    @routes.get(DEVICE)
    async def device(request: Request) -> Response:
        visitor = sessions.visitor(request)
        typed = request.query_params.get("user_code", "").strip()
        email = visitor.signed_in(_device(normal_code(typed)) if typed else DEVICE).email
        if not typed:
            return _enter(visitor)
        try:
            return _show_code(visitor, await find(typed, email))
        except Refusal as refusal:
            return _enter(visitor, typed=typed, refusal=refusal)

    @routes.post(DEVICE)
    async def answer_code(request: Request) -> Response:
        visitor = await sessions.form(request)
        typed, email = visitor.first("user_code"), visitor.signed_in(DEVICE).email
        approves = visitor.first("decision") == "approve"
        try:
            approval = await find(typed, email)
            granted = set(visitor.every("grant")) & set(approval.scopes) if approves else set()
            if approves and not granted:
                return _show_code(visitor, approval, trouble=NOTHING_CHOSEN)
            await container.database.run(
                oauth.answer, approval.user_code, email, sorted(granted), now=container.now()
            )
        except Refusal as refusal:
            return _enter(visitor, typed=typed, refusal=refusal)
        return _done(visitor, approval.app, approves=approves)

    return routes


def _show_request(
    visitor: Visitor, asking: AccessRequest, pairs: Pairs, *, trouble: str = ""
) -> Response:
    return visitor.show(
        "consent.html",
        status=400 if trouble else 200,
        form_leads_to=clients.redirect_origin(asking.redirect_uri),
        here=_again(pairs),
        action=AUTHORIZE,
        hidden=_members(pairs),
        app=asking.client.name,
        organization=pages.ORGANIZATION,
        asked=oauth.explained(asking.scopes),
        place=clients.redirect_place(asking.redirect_uri),
        user_code=None,
        trouble=trouble,
    )


def _show_code(visitor: Visitor, approval: CodeApproval, *, trouble: str = "") -> Response:
    return visitor.show(
        "consent.html",
        status=400 if trouble else 200,
        here=_device(approval.user_code),
        action=DEVICE,
        hidden=[("user_code", approval.user_code)],
        app=approval.app,
        organization=pages.ORGANIZATION,
        asked=oauth.explained(approval.scopes),
        place=None,
        user_code=approval.user_code,
        trouble=trouble,
    )


def _enter(visitor: Visitor, *, typed: str = "", refusal: Refusal | None = None) -> Response:
    return visitor.show(
        "enter_code.html",
        status=200 if refusal is None else refusal.status,
        here=DEVICE,
        typed=normal_code(typed) if typed else "",
        trouble="" if refusal is None else refusal.message,
    )


def _done(visitor: Visitor, app: str, *, approves: bool) -> Response:
    if approves:
        title, mood = f"{app} is connected", "good"
        sentence = "Go back to it: it goes on by itself. You can close this page."
    else:
        title, mood = f"{app} was turned away", "bad"
        sentence = "It got no key, and nothing was spent. You can close this page."
    return visitor.show("told.html", here=DEVICE, title=title, sentence=sentence, mood=mood)


def _device(user_code: str) -> str:
    return f"{DEVICE}?user_code={user_code}"


def _members(pairs: Pairs) -> list[tuple[str, str]]:
    return [(name, value) for name, value in pairs if name in grants.MEMBERS]


def _again(pairs: Pairs) -> str:
    return f"{AUTHORIZE}?{urlencode(_members(pairs))}"


def _back(location: str) -> Response:
    return RedirectResponse(location, 303, NO_STORE)
