"""Owns the page where a person enters a user code and answers the program behind it (paths 2
and 3)."""

from fastapi import APIRouter, Request, Response

from deployments.sandbox.auth import approvals, people, scopes
from deployments.sandbox.auth.approvals import Approval
from deployments.sandbox.auth.sessions import Sessions, Visitor, every, one
from deployments.sandbox.auth.user_codes import Guesses, normal
from deployments.sandbox.envelope import Refusal
from deployments.sandbox.house import House
from deployments.sandbox.routes.auth.sign_in import ask_to_sign_in

PATH = "/device"


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)
    sessions = Sessions(house.keyring.signing, now=house.now)
    guesses = Guesses(house.lifetimes.code)

    async def find(typed: str, email: str) -> Approval:
        now = house.now()
        if guesses.spent(email, now=now):
            message = "Too many wrong codes. Wait ten minutes, then ask the program for a new one."
            raise Refusal(429, "too_many_guesses", message)
        try:
            return await house.database.run(
                lambda db: approvals.open_to(db, normal(typed), email, now=now)
            )
        except Refusal as refusal:
            if refusal.status == 404:
                guesses.wrong(email, now=now)
            raise

    @routes.get(PATH)
    async def device(request: Request) -> Response:
        visitor = sessions.visitor(request)
        typed = request.query_params.get("user_code", "").strip()
        if visitor.person is None:
            following = f"{PATH}?user_code={normal(typed)}" if typed else PATH
            return ask_to_sign_in(sessions, request, visitor, following)
        if not typed:
            return _enter(sessions, request, visitor)
        try:
            approval = await find(typed, visitor.person.email)
        except Refusal as refusal:
            return _enter(sessions, request, visitor, typed=typed, refusal=refusal)
        return _consent(sessions, request, visitor, approval)

    @routes.post(PATH)
    async def answer(request: Request) -> Response:
        visitor, form = await sessions.form(request)
        typed = one(form, "user_code")
        if visitor.person is None:
            return ask_to_sign_in(sessions, request, visitor, PATH)
        email = visitor.person.email
        approves = one(form, "decision") == "approve"
        try:
            approval = await find(typed, email)
            granted = set(every(form, "grant")) & set(approval.scopes) if approves else set()
            if approves and not granted:
                trouble = "Choose at least one permission, or deny the request."
                return _consent(sessions, request, visitor, approval, trouble=trouble, status=400)
            await house.database.run(
                lambda db: approvals.answer(
                    db, approval.user_code, email, sorted(granted), now=house.now()
                )
            )
        except Refusal as refusal:
            return _enter(sessions, request, visitor, typed=typed, refusal=refusal)
        return _done(sessions, request, visitor, approval.app, approves=approves)

    return routes


def _enter(
    sessions: Sessions,
    request: Request,
    visitor: Visitor,
    *,
    typed: str = "",
    refusal: Refusal | None = None,
) -> Response:
    return sessions.show(
        request,
        visitor,
        "enter_code.html",
        status=200 if refusal is None else refusal.status,
        here=PATH,
        typed=normal(typed) if typed else "",
        trouble="" if refusal is None else refusal.message,
    )


def _consent(
    sessions: Sessions,
    request: Request,
    visitor: Visitor,
    approval: Approval,
    *,
    trouble: str = "",
    status: int = 200,
) -> Response:
    return sessions.show(
        request,
        visitor,
        "consent.html",
        status=status,
        here=f"{PATH}?user_code={approval.user_code}",
        action=PATH,
        hidden=[("user_code", approval.user_code)],
        app=approval.app,
        organization=people.ORGANIZATION,
        asked=[(scope, *scopes.MEANINGS[scope]) for scope in approval.scopes],
        place=None,
        user_code=approval.user_code,
        trouble=trouble,
    )


def _done(
    sessions: Sessions, request: Request, visitor: Visitor, app: str, *, approves: bool
) -> Response:
    if approves:
        title, mood = f"{app} is connected", "good"
        sentence = "Go back to it: it goes on by itself. You can close this page."
    else:
        title, mood = f"{app} was turned away", "bad"
        sentence = "It got no key, and nothing was spent. You can close this page."
    return sessions.show(
        request, visitor, "told.html", here=PATH, title=title, sentence=sentence, mood=mood
    )
