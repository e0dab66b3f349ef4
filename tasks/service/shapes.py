"""Where things are found in an answer, as far as the specification does not say.

A pointer (RFC 6901) set here wins over the names that are tried; it never falls back on them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.brief import Json


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """Names to try, in order, and pointers for a service that uses none of them."""

    quote_amount: str | None = None
    charged_amount: str | None = None
    signed_url: str | None = None
    share_url: str | None = None
    id_names: tuple[str, ...] = ("id", "video_id")
    webhook_id_names: tuple[str, ...] = ("id", "webhook_id")
    status_names: tuple[str, ...] = ("status", "state")
    poll_names: tuple[str, ...] = ("poll_after_seconds", "poll_after")
    amount_names: tuple[str, ...] = (
        "total_credits",
        "estimated_credits",
        "credits",
        "amount",
        "cost",
        "price",
        "total",
        "quote",
        "estimate",
    )
    charged_names: tuple[str, ...] = (
        "credits_charged",
        "charged_credits",
        "charged",
        "credits_used",
        "credits_spent",
    )
    url_names: tuple[str, ...] = ("url", "download_url", "signed_url", "href", "share_url", "link")
    list_names: tuple[str, ...] = (
        "videos",
        "webhooks",
        "deliveries",
        "templates",
        "tools",
        "items",
        "results",
        "data",
    )
    next_names: tuple[str, ...] = ("next_cursor", "next", "next_url", "cursor", "next_page")


def at_pointer(document: Json, pointer: str) -> Json:
    """Return what a JSON pointer points at, or None."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return None
    return document
