"""The idempotency key of a take, and the bytes it stands for.

A key is a pure function, so the same wanted video has the same key from any machine, at any
time, with or without the ledger. `cs1` names the recipe; changing it means a second charge.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

from callsheet.tasks.brief import CREATE, Json, canonical_json

RECIPE = "cs1"
#: Stands for the campaign in the key of a video that was typed by hand and belongs to none.
DIRECT = "callsheet video create"


def idempotency_key(*, campaign: str, row: str, operation: str, digest: str, nth: int) -> str:
    """Return the key of the `nth` paid attempt (from 1) at one brief: 44 of [a-z0-9_].

    `nth` counts attempts at this very brief and not at the row: a changed row starts at 1 again,
    so that its key can be derived from the sheet alone, should the ledger be lost.
    """
    identity = canonical_json([campaign, row, operation, digest, nth])
    text = base64.b32encode(hashlib.sha256(identity).digest()).decode().lower()
    return f"{RECIPE}_{text[:40]}"


def frozen_body(request: Mapping[str, Json], *, key: str | None, operation: str = CREATE) -> bytes:
    """Return the request body of a take: sent as it is, never made again from a sheet.

    Without a `key`, which a video always has, it can be sent only once.
    """
    starts = {"start_generation": True} if operation == CREATE else {}
    return canonical_json({**request, **starts, **({"idempotency_key": key} if key else {})})
