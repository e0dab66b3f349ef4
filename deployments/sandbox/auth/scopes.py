"""Owns the scopes (specification, section 5): their names, their words, and lists of them."""

from __future__ import annotations

from collections.abc import Iterable

from deployments.sandbox.auth.refusals import OAuthError

SCOPES = ("read", "write", "ai")

#: What a person is told before granting one: a verb, then what it covers.
MEANINGS = {
    "read": ("See the account", "Videos, characters, webhooks and the credits left."),
    "write": ("Create and change", "Make, edit, regenerate and delete videos. Spends credits."),
    "ai": (
        "Use generation helpers",
        "Scripts, portraits, voices, music, animated images, talking avatars and swaps. "
        "Spends credits.",
    ),
}


def asked(said: str | None) -> tuple[str, ...]:
    """Read a space-separated list; without one, all are asked for. Raises invalid_scope."""
    wanted = set(said.split(" ")) if said else set(SCOPES)
    if not wanted <= set(SCOPES):
        raise OAuthError("invalid_scope", f"scope: the scopes are {', '.join(SCOPES)}.")
    return ordered(wanted)


def ordered(scopes: Iterable[str]) -> tuple[str, ...]:
    """Put scopes in their one order, each once; what is no scope is left out."""
    held = set(scopes)
    return tuple(scope for scope in SCOPES if scope in held)
