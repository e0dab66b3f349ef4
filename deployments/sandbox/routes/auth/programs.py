"""Owns the doors for programs in section 5 of the specification: discovery, registration, the
three grants and revocation. What people click through is beside it."""

from collections.abc import Callable
from sqlite3 import Connection

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from deployments.sandbox.auth import claims, clients, codes, device, key_table, metadata
from deployments.sandbox.auth.approvals import Approval
from deployments.sandbox.auth.fields import Fields, fields_of, json_of
from deployments.sandbox.auth.grants import Outcome, success
from deployments.sandbox.auth.refusals import NO_STORE, OAuthError
from deployments.sandbox.house import House
from deployments.sandbox.video import stamp

Redeem = Callable[..., Outcome]
GRANTS: dict[str, Redeem] = {
    clients.CODE_GRANT: codes.redeem,
    clients.DEVICE_GRANT: device.redeem,
    clients.CLAIM_GRANT: claims.redeem,
}


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(include_in_schema=False)
    lifetimes = house.lifetimes

    @routes.get("/.well-known/oauth-authorization-server")
    async def authorization_server() -> Response:
        return JSONResponse(metadata.authorization_server(house.origin))

    @routes.get("/mcp/.well-known/oauth-protected-resource")
    @routes.get("/.well-known/oauth-protected-resource/mcp")
    async def protected_resource() -> Response:
        return JSONResponse(metadata.protected_resource(house.origin))

    @routes.post("/api/oauth/register", dependencies=[house.counted("register")])
    async def register(request: Request) -> Response:
        try:
            said = await json_of(request)
        except OAuthError as error:
            raise OAuthError("invalid_client_metadata", error.description) from error
        client = clients.read_registration(said, now=house.now())
        await house.database.run(lambda db: clients.put(db, client))
        return JSONResponse(client.shown(), 201, NO_STORE)

    @routes.post(
        "/api/oauth/device_authorization", dependencies=[house.counted("device_authorization")]
    )
    async def device_authorization(request: Request) -> Response:
        return await begin_device(house, await fields_of(request))

    @routes.post("/api/oauth/token", dependencies=[house.counted("token")])
    async def token(request: Request) -> Response:
        return await give_token(house, await fields_of(request))

    @routes.post("/api/oauth/revoke", dependencies=[house.counted("revoke")])
    async def revoke(request: Request) -> Response:
        try:
            said = await fields_of(request)
        except OAuthError:
            said = {}
        key = house.keyring.find(said.get("token", ""))
        if key is not None:
            await take_back(house, key.id)
        return Response(status_code=200, headers=NO_STORE)

    @routes.post("/agent/identity", dependencies=[house.counted("identity")])
    async def identity(request: Request) -> Response:
        said, now = await fields_of(request), house.now()
        claim, approval, claim_token = await house.database.run(
            lambda db: claims.begin(db, said, lifetimes, now=now)
        )
        answer = {
            "claim_token": claim_token,
            "claim_token_expires": stamp(claim.expires_at),
            "claim": _asked(house, approval),
        }
        return JSONResponse(answer, headers=NO_STORE)

    @routes.post("/agent/identity/claim", dependencies=[house.counted("identity_claim")])
    async def fresh_user_code(request: Request) -> Response:
        said, now = await fields_of(request), house.now()
        claim, approval = await house.database.run(
            lambda db: claims.renew(db, said, lifetimes, now=now)
        )
        # Where the fresh code stands is not specified: as in the first answer, and by itself.
        asked = _asked(house, approval)
        expires = stamp(claim.expires_at)
        return JSONResponse(
            {**asked, "claim_token_expires": expires, "claim": asked}, headers=NO_STORE
        )

    return routes


async def begin_device(house: House, said: Fields) -> Response:
    """Answer a device authorization request (RFC 8628, 3.2)."""
    lifetimes, now = house.lifetimes, house.now()
    approval, device_code = await house.database.run(
        lambda db: device.begin(db, said, lifetimes, now=now)
    )
    asked = _asked(house, approval)
    complete = f"{asked['verification_uri']}?user_code={approval.user_code}"
    answer = {"device_code": device_code, "verification_uri_complete": complete, **asked}
    return JSONResponse(answer, headers=NO_STORE)


async def give_token(house: House, said: Fields) -> Response:
    """Answer a request for a token (RFC 6749, 5). Raises OAuthError."""
    if "grant_type" not in said:
        raise OAuthError("invalid_request", "grant_type is missing.")
    redeem = GRANTS.get(said["grant_type"])
    if redeem is None:
        raise OAuthError("unsupported_grant_type", f"grant_type: one of {', '.join(GRANTS)}.")
    lifetimes, now = house.lifetimes, house.now()

    def act(db: Connection) -> Outcome:
        return redeem(db, said, lifetimes, now=now)

    outcome = await house.database.run(act)
    if outcome.key is not None:
        house.keyring.put(outcome.key)
    if outcome.refusal is not None:
        raise outcome.refusal
    return JSONResponse(success(outcome, lifetimes), headers=NO_STORE)


async def take_back(house: House, key_id: str) -> None:
    """Revoke a key: on the disk first, then for every request from now on."""
    key = await house.database.run(lambda db: key_table.revoke(db, key_id, now=house.now()))
    if key is not None:
        house.keyring.put(key)


def _asked(house: House, approval: Approval) -> dict[str, object]:
    return {
        "user_code": approval.user_code,
        "verification_uri": f"{house.origin}/device",
        "expires_in": int(house.lifetimes.code),
        "interval": approval.interval,
    }
