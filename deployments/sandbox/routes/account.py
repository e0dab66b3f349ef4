"""Owns signing in and out, where nobody has a password since the people are made up, and Settings,
Advanced, API keys: the organization's keys, made, looked through and revoked (path 4).

A key's value is shown once, on the page after it was made, and is nowhere else.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from callsheet.deployments.sandbox.auth import keys, oauth, pages
from callsheet.deployments.sandbox.auth.clients import LONGEST_NAME
from callsheet.deployments.sandbox.auth.keys import ApiKey
from callsheet.deployments.sandbox.auth.pages import Sessions, Visitor
from callsheet.deployments.sandbox.container import Container
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
            keys.issue_key, name=name, scopes=chosen, made_by=email, now=container.now()
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
        for key in reversed(await container.database.run(keys.all_keys))
        if key.revoked_at is None and (key.expires_at is None or key.expires_at > now)
    ]


def _trouble(name: str, chosen: tuple[str, ...]) -> str:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        return f"Give the key a name of 1 to {LONGEST_NAME} characters."
    return "" if chosen else "Choose at least one permission."


def _local(path: str) -> str:
    """Keep to this origin: no address in a link may send somebody elsewhere after signing in."""
    good = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if good else API_KEYS
