"""Owns the two documents a program finds its way by (RFC 8414 and RFC 9728)."""

from __future__ import annotations

from deployments.sandbox.auth.clients import GRANTS
from deployments.sandbox.auth.scopes import SCOPES


def authorization_server(origin: str) -> dict[str, object]:
    """Describe the authorization server; the issuer is `auth_url`, to the letter."""
    return {
        "issuer": origin,
        "authorization_endpoint": f"{origin}/api/oauth/authorize",
        "token_endpoint": f"{origin}/api/oauth/token",
        "registration_endpoint": f"{origin}/api/oauth/register",
        "device_authorization_endpoint": f"{origin}/api/oauth/device_authorization",
        "revocation_endpoint": f"{origin}/api/oauth/revoke",
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANTS),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
    }


def protected_resource(origin: str) -> dict[str, object]:
    """Describe the MCP server as a resource that takes our tokens."""
    return {
        "resource": f"{origin}/mcp",
        "authorization_servers": [origin],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "Video Generation Service",
    }


def resource_address(origin: str) -> str:
    """Say where the resource is described."""
    return f"{origin}/mcp/.well-known/oauth-protected-resource"
