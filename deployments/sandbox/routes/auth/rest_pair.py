"""Owns the REST pair `POST /auth/device` and `/auth/device/token`: the only operations that take
no key.

The specification says that they implement RFC 8628, so they answer as it does, without the
envelope: any client of that RFC can use them.
"""

from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from deployments.sandbox.auth.clients import DEVICE_GRANT, LONGEST_NAME
from deployments.sandbox.auth.fields import fields_of
from deployments.sandbox.auth.refusals import OAuthError
from deployments.sandbox.house import House
from deployments.sandbox.routes.auth.programs import begin_device, give_token

#: An empty text counts as not said (RFC 6749, 3.2).
SCOPE = r"^((read|write|ai)( (read|write|ai))*)?$"


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


REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "A refusal, or not yet: `error` says which.", "model": OAuthRefusal},
    401: {"description": "No program is registered as this client_id.", "model": OAuthRefusal},
}


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["Device login"])

    @routes.post(
        "/auth/device",
        dependencies=[house.counted("device_authorization")],
        responses={200: {"model": DeviceCode}, **REFUSALS},
        openapi_extra=_described(AskDevice, required=False),
    )
    async def begin_device_login(request: Request) -> Response:
        return await begin_device(house, await fields_of(request))

    @routes.post(
        "/auth/device/token",
        dependencies=[house.counted("token")],
        responses={200: {"model": Token}, **REFUSALS},
        openapi_extra=_described(AskToken, required=True),
    )
    async def poll_device_login(request: Request) -> Response:
        said = await fields_of(request)
        if said.setdefault("grant_type", DEVICE_GRANT) != DEVICE_GRANT:
            raise OAuthError("unsupported_grant_type", f"grant_type: only {DEVICE_GRANT}.")
        return await give_token(house, said)

    return routes


def _described(kind: type[BaseModel], *, required: bool) -> dict[str, object]:
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
