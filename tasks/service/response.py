"""One whole response of the service, and what can be read from it whatever its status."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from callsheet.tasks.brief import Json
from callsheet.tasks.redact import redact

EXCERPT = 500
_REQUEST_IDS = ("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "cf-ray")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)
# NaN and Infinity are not JSON, and no database would take them: read as missing.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


class Unparsable(Exception):
    """The body is not JSON: cut short, or not from the service at all."""


class Shapeless(Exception):
    """The body lacks the one member that is needed."""


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers and the whole body."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Json:
        """Return the body as JSON; raise Unparsable when it is not."""
        try:
            # `utf-8-sig` does the same, slowly.
            return _DECODER.decode(self.content.removeprefix(codecs.BOM_UTF8).decode())
        except (ValueError, RecursionError):
            raise Unparsable from None

    @property
    def data(self) -> Json:
        """What is inside the envelope; None where a success has no body at all."""
        return unwrap(self.json()) if self.content else None

    @property
    def request_id(self) -> str | None:
        """The name the service gave this request, for a person to ask about."""
        for name in _REQUEST_IDS:
            if value := self.headers.get(name):
                return redact(value)[:128]
        meta = self._member("meta")
        value = meta.get("request_id") if isinstance(meta, dict) else None
        return redact(value)[:128] if isinstance(value, str) else None

    @property
    def code(self) -> str | None:
        """The machine code of the error envelope."""
        value = self._error().get("code")
        return redact(value)[:128] if isinstance(value, str) else None

    @property
    def retryable(self) -> bool | None:
        """What the envelope says about repeating; None when it says nothing usable."""
        value = self._error().get("retryable")
        return value if isinstance(value, bool) else None

    @property
    def words(self) -> str:
        """What the service says in words, redacted, on one line and never long."""
        said = self._error().get("message")
        if not isinstance(said, str) or not said.strip():
            said = self._excerpt()
        return " ".join(redact(said).split())[:EXCERPT]

    def _excerpt(self) -> str:
        text = self.content[: 4 * EXCERPT].decode("utf-8", errors="replace")
        if "<html" in text.lower() or "text/html" in self.headers.get("content-type", ""):
            title = _TITLE.search(text)
            return "an HTML page" + (f': "{title[1].strip()}"' if title else "")
        return text or "no explanation was given"

    def _error(self) -> dict[str, Json]:
        error = self._member("error")
        if isinstance(error, str):
            return {"message": error}
        return error if isinstance(error, dict) else {}

    def _member(self, name: str) -> Json:
        try:
            body = self.json()
        except Unparsable:
            return None
        return body.get(name) if isinstance(body, dict) else None


def unwrap(body: Json) -> Json:
    """Return what is inside the envelope, or the body itself when it comes bare."""
    if not isinstance(body, dict) or "data" not in body:
        return body
    return body["data"] if len(body) == 1 or "meta" in body or "error" in body else body
