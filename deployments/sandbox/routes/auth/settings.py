"""Owns Settings, Advanced, API keys: the organization's keys, made, looked through and revoked
(path 4). A value is shown once, on the page after it was made, and is nowhere else."""

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from deployments.sandbox.auth import key_table, people, scopes
from deployments.sandbox.auth.clients import LONGEST_NAME
from deployments.sandbox.auth.key_table import Key
from deployments.sandbox.auth.sessions import Sessions, Visitor, every, one
from deployments.sandbox.house import House
from deployments.sandbox.routes.auth.programs import take_back
from deployments.sandbox.routes.auth.sign_in import ask_to_sign_in

PATH = "/settings/api-keys"


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)
    sessions = Sessions(house.keyring.signing, now=house.now)
    # What is still to be shown once, by the session that made it.
    made: dict[str, str] = {}

    async def show(
        request: Request, visitor: Visitor, *, trouble: str = "", status: int = 200
    ) -> Response:
        return sessions.show(
            request,
            visitor,
            "api_keys.html",
            status=status,
            here=PATH,
            organization=people.ORGANIZATION,
            keys=await _good_keys(house),
            scopes=[(scope, *scopes.MEANINGS[scope]) for scope in scopes.SCOPES],
            made=made.pop(visitor.cookie, None),
            longest=LONGEST_NAME,
            trouble=trouble,
        )

    @routes.get(PATH)
    async def api_keys(request: Request) -> Response:
        visitor = sessions.visitor(request)
        if visitor.person is None:
            return ask_to_sign_in(sessions, request, visitor, PATH)
        return await show(request, visitor)

    @routes.post(PATH)
    async def make_key(request: Request) -> Response:
        visitor, form = await sessions.form(request)
        if visitor.person is None:
            return ask_to_sign_in(sessions, request, visitor, PATH)
        email, name = visitor.person.email, one(form, "name").strip()
        chosen = scopes.ordered(every(form, "scope"))
        if trouble := _trouble(name, chosen):
            return await show(request, visitor, trouble=trouble, status=400)
        key, made[visitor.cookie] = await house.database.run(
            lambda db: key_table.issue(db, name=name, scopes=chosen, made_by=email, now=house.now())
        )
        house.keyring.put(key)
        return RedirectResponse(PATH, 303)

    @routes.post(f"{PATH}/revoke")
    async def revoke_key(request: Request) -> Response:
        visitor, form = await sessions.form(request)
        if visitor.person is None:
            return ask_to_sign_in(sessions, request, visitor, PATH)
        await take_back(house, one(form, "key"))
        return RedirectResponse(PATH, 303)

    return routes


async def _good_keys(house: House) -> list[Key]:
    """Give the keys that work now, the newest first."""
    await house.keyring.keep_uses(house.database)
    now = house.now()
    return [
        key
        for key in reversed(await house.database.run(key_table.listed))
        if key.revoked_at is None and (key.expires_at is None or key.expires_at > now)
    ]


def _trouble(name: str, chosen: tuple[str, ...]) -> str:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        return f"Give the key a name of 1 to {LONGEST_NAME} characters."
    return "" if chosen else "Choose at least one permission."
