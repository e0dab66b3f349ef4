"""Owns the doors for programs in section 5 of the specification: discovery, registration, the
three grants and revocation, and the REST pair `POST /auth/device` and `/auth/device/token`.

The specification says that the pair implements RFC 8628, so it answers as that does, without the
envelope: any client of that RFC can use it. It and discovery are what takes no key.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

from callsheet.deployments.sandbox.auth import clients, grants
from callsheet.deployments.sandbox.auth.clients import DEVICE_GRANT, LONGEST_NAME
from callsheet.deployments.sandbox.auth.grants import GrantOutcome, token_answer
from callsheet.deployments.sandbox.auth.oauth import (
    NO_STORE,
    CodeApproval,
    Fields,
    OAuthError,
    fields_of,
    json_of,
)
from callsheet.deployments.sandbox.container import Container
from callsheet.deployments.sandbox.video import stamp

Redeem = Callable[..., GrantOutcome]
GRANTS: dict[str, Redeem] = {
    clients.CODE_GRANT: grants.redeem_code,
    clients.DEVICE_GRANT: grants.redeem_device,
    clients.CLAIM_GRANT: grants.redeem_claim,
}
#: An empty text counts as not said (RFC 6749, 3.2).
SCOPE = r"^((read|write|ai)( (read|write|ai))*)?$"
PAIR: list[str | Enum] = ["Device login"]


class AskDevice(BaseModel):
    """What a program says to get a device code; all of it is optional."""

    client_name: str | None = Field(None, max_length=LONGEST_NAME)
    client_id: str | None = None
    scope: str | None = Field(None, pattern=SCOPE)


class AskToken(BaseModel):
    """What a program polls with."""

    grant_type: Literal["urn:ietf:params:oauth:grant-type:device_code"] | None = None
    device_code: str = Field(min_length=1)
    client_id: str | None = None


class DeviceCode(BaseModel):
    """What to show the user, and what to poll with (RFC 8628, 3.2). Times are in seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class Token(BaseModel):
    """The key that was issued, shown this once."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str


class OAuthRefusal(BaseModel):
    """The error of RFC 6749; `interval` comes with `slow_down`."""

    error: str
    error_description: str
    interval: int | None = None


PAIR_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "A refusal, or not yet: `error` says which.", "model": OAuthRefusal},
    401: {"description": "No program is registered as this client_id.", "model": OAuthRefusal},
}


def router(container: Container) -> APIRouter:
    """Make the routes."""
    routes = APIRouter()
    get = partial(routes.get, include_in_schema=False)
    post = partial(routes.post, include_in_schema=False)
    lifetimes = container.lifetimes

    @get("/.well-known/oauth-authorization-server")
    async def authorization_server() -> Response:
        return JSONResponse(clients.authorization_server(container.origin))

    @get("/mcp/.well-known/oauth-protected-resource")
    @get("/.well-known/oauth-protected-resource/mcp")
    async def protected_resource() -> Response:
        return JSONResponse(clients.protected_resource(container.origin))

    @post("/api/oauth/register", dependencies=[container.counted("register")])
    async def register(request: Request) -> Response:
        try:
            said = await json_of(request)
        except OAuthError as error:
            raise OAuthError("invalid_client_metadata", error.description) from error
        client = clients.read_registration(said, now=container.now())
        await container.database.run(clients.keep_client, client)
        return JSONResponse(client.shown(), 201, NO_STORE)

    @post(
        "/api/oauth/device_authorization", dependencies=[container.counted("device_authorization")]
    )
    async def device_authorization(request: Request) -> Response:
        return await begin_device(container, await fields_of(request))

    @post("/api/oauth/token", dependencies=[container.counted("token")])
    async def token(request: Request) -> Response:
        return await give_token(container, await fields_of(request))

    @post("/api/oauth/revoke", dependencies=[container.counted("revoke")])
    async def revoke(request: Request) -> Response:
        try:
            said = await fields_of(request)
        except OAuthError:
            said = {}
        key = container.keyring.find(said.get("token", ""))
        if key is not None:
            await take_back(container, key.id)
        return Response(status_code=200, headers=NO_STORE)

    @post("/agent/identity", dependencies=[container.counted("identity")])
    async def identity(request: Request) -> Response:
        said, now = await fields_of(request), container.now()
        claim, approval, claim_token = await container.database.run(
            grants.begin_claim, said, lifetimes, now=now
        )
        answer = {
            "claim_token": claim_token,
            "claim_token_expires": stamp(claim.expires_at),
            "claim": _asked(container, approval),
        }
        return JSONResponse(answer, headers=NO_STORE)

    @post("/agent/identity/claim", dependencies=[container.counted("identity_claim")])
    async def fresh_user_code(request: Request) -> Response:
        said, now = await fields_of(request), container.now()
        claim, approval = await container.database.run(grants.renew_claim, said, lifetimes, now=now)
        # Where the fresh code stands is not specified: as in the first answer, and by itself.
        asked = _asked(container, approval)
        expires = stamp(claim.expires_at)
        return JSONResponse(
            {**asked, "claim_token_expires": expires, "claim": asked}, headers=NO_STORE
        )

    @routes.post(
        "/api/v1/auth/device",
        tags=PAIR,
        dependencies=[container.counted("device_authorization")],
        responses={200: {"model": DeviceCode}, **PAIR_REFUSALS},
        openapi_extra=_described_form(AskDevice, required=False),
    )
    async def begin_device_login(request: Request) -> Response:
        return await begin_device(container, await fields_of(request))

    @routes.post(
        "/api/v1/auth/device/token",
        tags=PAIR,
        dependencies=[container.counted("token")],
        responses={200: {"model": Token}, **PAIR_REFUSALS},
        openapi_extra=_described_form(AskToken, required=True),
    )
    async def poll_device_login(request: Request) -> Response:
        said = await fields_of(request)
        if said.setdefault("grant_type", DEVICE_GRANT) != DEVICE_GRANT:
            raise OAuthError("unsupported_grant_type", f"grant_type: only {DEVICE_GRANT}.")
        return await give_token(container, said)

    return routes


async def begin_device(container: Container, said: Fields) -> Response:
    """Answer a device authorization request (RFC 8628, 3.2)."""
    lifetimes, now = container.lifetimes, container.now()
    approval, device_code = await container.database.run(
        grants.begin_device, said, lifetimes, now=now
    )
    asked = _asked(container, approval)
    complete = f"{asked['verification_uri']}?user_code={approval.user_code}"
    answer = {"device_code": device_code, "verification_uri_complete": complete, **asked}
    return JSONResponse(answer, headers=NO_STORE)


async def give_token(container: Container, said: Fields) -> Response:
    """Answer a request for a token (RFC 6749, 5). Raises OAuthError."""
    if "grant_type" not in said:
        raise OAuthError("invalid_request", "grant_type is missing.")
    redeem = GRANTS.get(said["grant_type"])
    if redeem is None:
        raise OAuthError("unsupported_grant_type", f"grant_type: one of {', '.join(GRANTS)}.")
    lifetimes, now = container.lifetimes, container.now()
    outcome = await container.database.run(redeem, said, lifetimes, now=now)
    if outcome.key is not None:
        container.keyring.put(outcome.key)
    if outcome.refusal is not None:
        raise outcome.refusal
    return JSONResponse(token_answer(outcome, lifetimes), headers=NO_STORE)


async def take_back(container: Container, key_id: str) -> None:
    """Revoke a key: on the disk first, then for every request from now on."""
    key = await container.database.run(clients.revoke_key, key_id, now=container.now())
    if key is not None:
        container.keyring.put(key)


def _asked(container: Container, approval: CodeApproval) -> dict[str, object]:
    return {
        "user_code": approval.user_code,
        "verification_uri": f"{container.origin}/device",
        "expires_in": int(container.lifetimes.code),
        "interval": approval.interval,
    }


def _described_form(kind: type[BaseModel], *, required: bool) -> dict[str, object]:
    """Describe a body that is a form or JSON, where what is optional is left out, never null."""
    schema = kind.model_json_schema()
    for member in schema["properties"].values():
        if "anyOf" in member:
            member |= member.pop("anyOf")[0]
            member.pop("default", None)
    forms = ("application/json", "application/x-www-form-urlencoded")
    content = {form: {"schema": schema} for form in forms}
    # No security: these two are how one comes by a key.
    return {"security": [], "requestBody": {"required": required, "content": content}}
