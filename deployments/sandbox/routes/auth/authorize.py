"""Owns the page where a person lets a program with a redirect in, or does not (path 1)."""

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from deployments.sandbox.auth import authorization, codes, people, redirects, scopes
from deployments.sandbox.auth.authorization import Asking
from deployments.sandbox.auth.refusals import NO_STORE
from deployments.sandbox.auth.sessions import Sessions, Visitor, every, one
from deployments.sandbox.house import House
from deployments.sandbox.routes.auth.sign_in import ask_to_sign_in

PATH = "/api/oauth/authorize"
Pairs = Sequence[tuple[str, str]]


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)
    sessions = Sessions(house.keyring.signing, now=house.now)

    async def read(pairs: Pairs) -> Asking:
        return await house.database.run(
            lambda db: authorization.read_request(db, pairs, issuer=house.origin)
        )

    @routes.get(PATH)
    async def authorize(request: Request) -> Response:
        pairs = request.query_params.multi_items()
        asking = await read(pairs)
        visitor = sessions.visitor(request)
        if visitor.person is None:
            return ask_to_sign_in(sessions, request, visitor, _again(pairs))
        return _consent(sessions, request, visitor, asking, pairs)

    @routes.post(PATH)
    async def answer(request: Request) -> Response:
        visitor, form = await sessions.form(request)
        asking = await read(form)
        if visitor.person is None:
            return ask_to_sign_in(sessions, request, visitor, _again(form))
        if one(form, "decision") != "approve":
            return _back(
                asking.answered(error="access_denied", error_description="The user declined.")
            )
        granted = scopes.ordered(set(every(form, "grant")) & set(asking.scopes))
        if not granted:
            trouble = "Choose at least one permission, or deny the request."
            return _consent(sessions, request, visitor, asking, form, trouble=trouble, status=400)
        email, now = visitor.person.email, house.now()
        code = await house.database.run(
            lambda db: codes.grant(
                db, asking, granted=granted, email=email, lifetimes=house.lifetimes, now=now
            )
        )
        return _back(asking.answered(code=code))

    return routes


def _consent(
    sessions: Sessions,
    request: Request,
    visitor: Visitor,
    asking: Asking,
    pairs: Pairs,
    *,
    trouble: str = "",
    status: int = 200,
) -> Response:
    return sessions.show(
        request,
        visitor,
        "consent.html",
        status=status,
        form_leads_to=redirects.origin(asking.redirect_uri),
        here=_again(pairs),
        action=PATH,
        hidden=_members(pairs),
        app=asking.client.name,
        organization=people.ORGANIZATION,
        asked=[(scope, *scopes.MEANINGS[scope]) for scope in asking.scopes],
        place=redirects.place(asking.redirect_uri),
        user_code=None,
        trouble=trouble,
    )


def _members(pairs: Pairs) -> list[tuple[str, str]]:
    return [(name, value) for name, value in pairs if name in authorization.MEMBERS]


def _again(pairs: Pairs) -> str:
    return f"{PATH}?{urlencode(_members(pairs))}"


def _back(location: str) -> Response:
    return RedirectResponse(location, 303, NO_STORE)
