"""Owns signing in and out: the sandbox's people are made up, so none of them has a password."""

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from deployments.sandbox.auth import people
from deployments.sandbox.auth.pages import STYLE
from deployments.sandbox.auth.sessions import Sessions, Visitor, one
from deployments.sandbox.house import House

HOME = "/settings/api-keys"


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)
    sessions = Sessions(house.keyring.signing, now=house.now)

    @routes.get("/pages.css")
    async def style() -> Response:
        return Response(STYLE, media_type="text/css", headers={"cache-control": "no-cache"})

    @routes.get("/sign-in")
    async def sign_in_page(request: Request) -> Response:
        following = _local(request.query_params.get("next", HOME))
        return ask_to_sign_in(sessions, request, sessions.visitor(request), following)

    @routes.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        visitor, form = await sessions.form(request)
        following = _local(one(form, "next"))
        email = people.email_of(one(form, "email"))
        if email is None:
            trouble = "That is not an e-mail address. It looks like name@example.com."
            return ask_to_sign_in(
                sessions, request, visitor, following, trouble=trouble, status=400
            )
        return sessions.keep(sessions.begin(email), request, RedirectResponse(following, 303))

    @routes.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        _, form = await sessions.form(request)
        following = _local(one(form, "next"))
        return sessions.keep(sessions.begin(""), request, RedirectResponse(following, 303))

    return routes


def ask_to_sign_in(
    sessions: Sessions,
    request: Request,
    visitor: Visitor,
    following: str,
    *,
    trouble: str = "",
    status: int = 200,
) -> Response:
    """Show the sign-in page, which leads on to the page that was wanted."""
    return sessions.show(
        request,
        visitor,
        "sign_in.html",
        status=status,
        people=people.PEOPLE,
        following=following,
        trouble=trouble,
    )


def _local(path: str) -> str:
    """Keep to this origin: no address in a link may send somebody elsewhere after signing in."""
    good = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if good else HOME
