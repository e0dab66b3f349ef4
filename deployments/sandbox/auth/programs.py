"""The doors for programs in section 5 of the specification: discovery, registration, the three
grants and revocation, and the REST pair `POST /auth/device` and `/auth/device/token`.

The specification says that the pair implements RFC 8628, so it answers as that does, without the
envelope: any client of that RFC can use it. It and discovery are what takes no key.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from callsheet.deployments.sandbox.auth import login
from callsheet.deployments.sandbox.auth.keys import SCOPES
from callsheet.deployments.sandbox.auth.login import (
    DEVICE_GRANT,
    GRANTS,
    LONGEST_NAME,
    NO_STORE,
    Approval,
    Fields,
    OAuthError,
    fields_of,
    json_of,
    needed,
)
from callsheet.deployments.sandbox.database import stamp
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.operations import API, PUBLIC, Call, Operation, public

PARSE_ERROR, NO_METHOD = -32700, -32601
MCP_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


async def authorization_server(call: Call) -> Response:
    """Describe the authorization server; the issuer is `auth_url`, to the letter."""
    origin = call.service.origin
    oauth = f"{origin}/api/oauth"
    return JSONResponse({
        "issuer": origin,
        "authorization_endpoint": f"{oauth}/authorize",
        "token_endpoint": f"{oauth}/token",
        "registration_endpoint": f"{oauth}/register",
        "device_authorization_endpoint": f"{oauth}/device_authorization",
        "revocation_endpoint": f"{oauth}/revoke",
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANTS),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
    })  # fmt: skip


async def protected_resource(call: Call) -> Response:
    """Describe the MCP server as a resource that takes our tokens."""
    return JSONResponse({
        "resource": f"{call.service.origin}/mcp",
        "authorization_servers": [call.service.origin],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "Video Generation Service",
    })  # fmt: skip


async def mcp(call: Call) -> Response:
    """Answer the root of the MCP server; say to whom has no good key how to get one (RFC 9728)."""
    try:
        call.service.keyring.admit(call.request.headers.get("authorization"))
    except Refusal as refusal:
        fault = refusal.headers["www-authenticate"].removeprefix("Bearer").strip()
        where = f"{call.service.origin}/mcp/.well-known/oauth-protected-resource"
        challenge = f'Bearer resource_metadata="{where}"'
        refusal.headers["www-authenticate"] = ", ".join(filter(None, (challenge, fault)))
        raise
    if call.request.method != "POST":
        message, allowed = "Send JSON-RPC by POST.", {"allow": "POST"}
        raise Refusal(405, "method_not_allowed", message, headers=allowed)
    try:
        said = await json_of(call.request)
    except OAuthError as error:
        return _no_result(None, PARSE_ERROR, error.description, status=400)
    if "id" not in said:
        return Response(status_code=202)
    return _no_result(said["id"], NO_METHOD, "The sandbox has no MCP tools: use its REST API.")


def _no_result(call_id: object, code: int, message: str, *, status: int = 200) -> Response:
    error = {"code": code, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": error}, status)


async def register(call: Call) -> Response:
    """Register a program."""
    said = await json_of(call.request, "invalid_client_metadata")
    client = await call.run(login.register, said, now=call.now)
    return JSONResponse(client.shown(), 201, NO_STORE)


async def device_authorization(call: Call) -> Response:
    """Begin a login on a device (RFC 8628, 3.2)."""
    said, lifetimes = await fields_of(call.request), call.service.lifetimes
    approval, code = await call.run(login.begin_device, said, lifetimes, now=call.now)
    asked = _asked(call, approval)
    complete = f"{asked['verification_uri']}?user_code={approval.id}"
    answer = {"device_code": code, "verification_uri_complete": complete, **asked}
    return JSONResponse(answer, headers=NO_STORE)


def _asked(call: Call, approval: Approval) -> dict[str, object]:
    return {
        "user_code": approval.id,
        "verification_uri": f"{call.service.origin}/device",
        "expires_in": int(call.service.lifetimes.code),
        "interval": approval.interval,
    }


async def token(call: Call) -> Response:
    """Give a token (RFC 6749, 5)."""
    return await _token(call, await fields_of(call.request))


async def poll_device_login(call: Call) -> Response:
    """Poll for the key that a person approves."""
    said = await fields_of(call.request)
    if said.setdefault("grant_type", DEVICE_GRANT) != DEVICE_GRANT:
        raise OAuthError("unsupported_grant_type", f"grant_type: only {DEVICE_GRANT}.")
    return await _token(call, said)


async def _token(call: Call, said: Fields) -> Response:
    (grant,) = needed(said, "grant_type")
    if grant not in GRANTS:
        raise OAuthError("unsupported_grant_type", f"grant_type: one of {', '.join(GRANTS)}.")
    lifetimes = call.service.lifetimes
    key, value, refusal = await call.run(GRANTS[grant], said, lifetimes, call.now)
    if key is not None:
        call.service.keyring.put(key)
    if refusal is not None:
        raise refusal
    assert key is not None
    lasts, scope = int(lifetimes.token), " ".join(key.scopes)
    answer = {"access_token": value, "token_type": "Bearer", "expires_in": lasts, "scope": scope}
    return JSONResponse(answer, headers=NO_STORE)


async def revoke(call: Call) -> Response:
    """Take a key back; whatever was sent, the answer is 200 (RFC 7009)."""
    try:
        said = await fields_of(call.request)
    except OAuthError:
        said = {}
    key = call.service.keyring.find(said.get("token", ""))
    if key is not None:
        await call.service.keyring.revoke(call.service.database, key.id)
    return Response(headers=NO_STORE)


async def identity(call: Call) -> Response:
    """Begin a claim for the person with an e-mail address."""
    said, lifetimes = await fields_of(call.request), call.service.lifetimes
    approval, secret = await call.run(login.begin_claim, said, lifetimes, now=call.now)
    expires, asked = stamp(approval.until), _asked(call, approval)
    answer = {"claim_token": secret, "claim_token_expires": expires, "claim": asked}
    return JSONResponse(answer, headers=NO_STORE)


async def fresh_user_code(call: Call) -> Response:
    """Make a fresh user code for a claim. Where it stands is not specified: as in the first
    answer, and by itself."""
    said, lifetimes = await fields_of(call.request), call.service.lifetimes
    approval = await call.run(login.renew_claim, said, lifetimes, now=call.now)
    asked, expires = _asked(call, approval), stamp(approval.until)
    answer = {**asked, "claim_token_expires": expires, "claim": asked}
    return JSONResponse(answer, headers=NO_STORE)


class AskDevice(BaseModel):
    """What a program says to get a device code; all of it is optional. An empty text counts as not
    said (RFC 6749, 3.2)."""

    client_name: str = Field("", max_length=LONGEST_NAME)
    client_id: str = ""
    scope: str = Field("", pattern=r"^((read|write|ai)( (read|write|ai))*)?$")


class AskToken(BaseModel):
    """What a program polls with."""

    grant_type: Literal["urn:ietf:params:oauth:grant-type:device_code"] = (
        "urn:ietf:params:oauth:grant-type:device_code"
    )
    device_code: str = Field(min_length=1)
    client_id: str = ""


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


def _described(
    body: type[BaseModel], answer: type[BaseModel], *, required: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Describe answers without the envelope, and a body that is a form or JSON."""

    def content(model: type[BaseModel]) -> dict[str, Any]:
        return {"application/json": {"schema": model.model_json_schema()}}

    refused = content(OAuthRefusal)
    responses = {
        "200": {"description": "Successful Response", "content": content(answer)},
        "400": {"description": "A refusal, or not yet: `error` says which.", "content": refused},
        "401": {"description": "No program is registered as this client_id.", "content": refused},
    }
    json = content(body)
    forms = {**json, "application/x-www-form-urlencoded": json["application/json"]}
    return responses, {"requestBody": {"required": required, "content": forms}}


_BEGIN, _BEGIN_BODY = _described(AskDevice, DeviceCode, required=False)
_POLL, _POLL_BODY = _described(AskToken, Token, required=True)
OPERATIONS = [
    public("authorization_server", "GET", "/.well-known/oauth-authorization-server",
           authorization_server),
    public("protected_resource", "GET", "/mcp/.well-known/oauth-protected-resource",
           protected_resource),
    public("protected_resource", "GET", "/.well-known/oauth-protected-resource/mcp",
           protected_resource),
    *(public("mcp", method, path, mcp) for path in ("/mcp", "/mcp/") for method in MCP_METHODS),
    public("register", "POST", "/api/oauth/register", register),
    public("device_authorization", "POST", "/api/oauth/device_authorization",
           device_authorization),
    public("token", "POST", "/api/oauth/token", token),
    public("revoke", "POST", "/api/oauth/revoke", revoke),
    public("identity", "POST", "/agent/identity", identity),
    public("identity_claim", "POST", "/agent/identity/claim", fresh_user_code),
    Operation("device_authorization", "POST", f"{API}/auth/device", PUBLIC, device_authorization,
              responses=_BEGIN, extra=_BEGIN_BODY),
    Operation("token", "POST", f"{API}/auth/device/token", PUBLIC, poll_device_login,
              responses=_POLL, extra=_POLL_BODY),
]  # fmt: skip
