"""Whether a delivery is signed, and by which secret. Bytes in, a name out; knows no HTTP server.

Specification, section 6: the header is `sha256=` and the HMAC-SHA256 of the raw body in lowercase
hexadecimal digits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence

_FORM = re.compile(rb"sha256=([0-9a-f]{64})")


def is_signature(values: Sequence[bytes]) -> bool:
    """Whether the values of the signature header are one, and of the right form."""
    return len(values) == 1 and _FORM.fullmatch(values[0]) is not None


def signer_of(
    values: Sequence[bytes], body: bytes, secrets: Iterable[tuple[str, bytes]]
) -> str | None:
    """Return the nonce of the secret that signed `body`, or None.

    Every secret is tried to the end, so that the time taken tells nothing of which one fits. All
    of it is bytes: `hmac.compare_digest` raises for text beyond ASCII.
    """
    if not is_signature(values):
        return None
    given, signer = values[0].removeprefix(b"sha256="), None
    for nonce, secret in secrets:
        wanted = hmac.new(secret, body, hashlib.sha256).hexdigest().encode()
        if hmac.compare_digest(given, wanted) and signer is None:
            signer = nonce
    return signer
