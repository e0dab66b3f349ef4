"""The doors for programs in section 5 of the specification: discovery, registration, the three
grants and revocation, and the REST pair `POST /auth/device` and `/auth/device/token`.

The specification says that the pair implements RFC 8628, so it answers as that does, without the
envelope: any client of that RFC can use it. It and discovery are what takes no key.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from callsheet.deployments.sandbox.auth import login
from callsheet.deployments.sandbox.auth.keys import SCOPES
from callsheet.deployments.sandbox.auth.login import (
    CODE_GRANT,
    DEVICE_GRANT,
    GRANTS,
    NO_STORE,
    NOT_ENABLED,
    Approval,
    ClaimRequest,
    DeviceRequest,
    Fields,
    OAuthError,
    Registration,
    fields_of,
    json_of,
)
from callsheet.deployments.sandbox.database import stamp
from callsheet.deployments.sandbox.envelope import Refusal
from callsheet.deployments.sandbox.operations import Call, public

NO_METHOD = -32601
MCP_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def _described(**members: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an operation that answers as RFC 8628 does, and takes a form or JSON."""
    needed = [name for name, said in members.items() if said.get("minLength")]
    body = {"schema": {"type": "object", "properties": members, "required": needed}}
    said = {"application/json": {"schema": {"type": "object"}}}
    statuses = {
        "200": "The answer of RFC 8628.",
        "400": "A refusal, or not yet: `error` says which.",
        "401": "No program is registered as this client_id.",
    }
    forms = {"application/json": body, "application/x-www-form-urlencoded": body}
    return {
        "requestBody": {"required": bool(needed), "content": forms},
        "responses": {
            one: {"description": about, "content": said} for one, about in statuses.items()
        },
    }


_TEXT = {"type": "string"}
_BEGIN = _described(**DeviceRequest.model_json_schema()["properties"])
_POLL = _described(
    grant_type={**_TEXT, "enum": [DEVICE_GRANT]},
    device_code={**_TEXT, "minLength": 1},
    client_id=_TEXT,
)


@public("authorization_server", "GET", "/.well-known/oauth-authorization-server")
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


@public("protected_resource", "GET", "/mcp/.well-known/oauth-protected-resource")
@public("protected_resource", "GET", "/.well-known/oauth-protected-resource/mcp")
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
    said = await json_of(call.request)
    error = {"code": NO_METHOD, "message": "The sandbox has no MCP tools: use its REST API."}
    return JSONResponse({"jsonrpc": "2.0", "id": said.get("id"), "error": error})


for _method in MCP_METHODS:
    for _path in ("/mcp", "/mcp/"):
        public("mcp", _method, _path)(mcp)


@public("register", "POST", "/api/oauth/register")
async def register(call: Call) -> Response:
    """Register a program."""
    said = await json_of(call.request, Registration.error)
    client = await call.run(login.register, login.read(Registration, said), now=call.now)
    answer = {
        "client_id": client.id,
        "client_id_issued_at": int(client.created_at),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": client.grant_types,
        "response_types": ["code"] if CODE_GRANT in client.grant_types else [],
        "token_endpoint_auth_method": "none",
    }
    return JSONResponse(answer, 201, NO_STORE)


@public("device_authorization", "POST", "/api/oauth/device_authorization")
@public("device_authorization", "POST", "/api/v1/auth/device", extra=_BEGIN)
async def device_authorization(call: Call) -> Response:
    """Begin a login on a device (RFC 8628, 3.2)."""
    said = login.read(DeviceRequest, await fields_of(call.request))
    lifetimes = call.service.lifetimes
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


@public("token", "POST", "/api/oauth/token")
async def token(call: Call) -> Response:
    """Give a token (RFC 6749, 5)."""
    return await _token(call, await fields_of(call.request))


@public("token", "POST", "/api/v1/auth/device/token", extra=_POLL)
async def poll_device_login(call: Call) -> Response:
    """Poll for the key that a person approves."""
    said = await fields_of(call.request)
    if said.setdefault("grant_type", DEVICE_GRANT) != DEVICE_GRANT:
        raise OAuthError("unsupported_grant_type", f"grant_type: only {DEVICE_GRANT}.")
    return await _token(call, said)


async def _token(call: Call, said: Fields) -> Response:
    lifetimes = call.service.lifetimes
    redeemed = await call.run(login.redeem, said, lifetimes, now=call.now)
    if isinstance(redeemed, OAuthError):
        raise redeemed
    key, value = redeemed
    call.service.keyring.put(key)
    lasts, scope = int(lifetimes.token), " ".join(key.scopes)
    answer = {"access_token": value, "token_type": "Bearer", "expires_in": lasts, "scope": scope}
    return JSONResponse(answer, headers=NO_STORE)


@public("revoke", "POST", "/api/oauth/revoke")
async def revoke(call: Call) -> Response:
    """Take a key back; whatever was sent, the answer is 200 (RFC 7009)."""
    with contextlib.suppress(OAuthError):
        said, keyring = await fields_of(call.request), call.service.keyring
        await keyring.revoke(call.service.database, keyring.find(str(said.get("token"))))
    return Response(headers=NO_STORE)


@public("identity", "POST", "/agent/identity")
async def identity(call: Call) -> Response:
    """Begin a claim for the person with an e-mail address."""
    said = await fields_of(call.request)
    if (kind := str(said.get("type"))) in NOT_ENABLED:
        raise OAuthError(*NOT_ENABLED[kind])
    asked, lifetimes = login.read(ClaimRequest, said), call.service.lifetimes
    approval, secret = await call.run(login.begin_claim, asked, lifetimes, now=call.now)
    expires, claim = stamp(approval.until), _asked(call, approval)
    answer = {"claim_token": secret, "claim_token_expires": expires, "claim": claim}
    return JSONResponse(answer, headers=NO_STORE)


@public("identity_claim", "POST", "/agent/identity/claim")
async def fresh_user_code(call: Call) -> Response:
    """Make a fresh user code for a claim. Where it stands is not specified: as in the first
    answer, and by itself."""
    said, lifetimes = await fields_of(call.request), call.service.lifetimes
    secret = str(said.get("claim_token"))
    approval = await call.run(login.renew_claim, secret, lifetimes, now=call.now)
    asked, expires = _asked(call, approval), stamp(approval.until)
    answer = {**asked, "claim_token_expires": expires, "claim": asked}
    return JSONResponse(answer, headers=NO_STORE)
