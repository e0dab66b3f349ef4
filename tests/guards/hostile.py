"""A service that repeats secrets wherever it can: in words, pages, headers and half-sent JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.guards.canaries import CANARIES, SIGNED

KEY, GRANTED, HOOK = CANARIES["api key"], CANARIES["access token"], CANARIES["webhook secret"]
_WORDS = f"no key Bearer {KEY}, nor token={GRANTED}: see {SIGNED} (api_key: {KEY})"


def _error(status: int) -> tuple[int, bytes, dict[str, str]]:
    error = {"message": _WORDS, "code": f"no_{KEY}", "retryable": False}
    body = {"data": None, "error": error, "meta": {"request_id": KEY}}
    return status, json.dumps(body).encode(), {"X-Request-Id": f"Bearer {KEY}"}


def _data(data: Any, status: int = 200) -> tuple[int, bytes, dict[str, str]]:
    return status, json.dumps({"data": data, "error": None, "meta": {}}).encode(), {}


_PAGE = f"<html><a href='{SIGNED}'>{KEY}</a> code_verifier={GRANTED}</html>".encode()
_BROKEN = f'{{"data": {{"api_key": "{KEY}", "url": "{SIGNED}", "secret": "{HOOK}", '.encode()
_CODES = {
    "device_code": CANARIES["device code"],
    "user_code": CANARIES["user code"],
    "verification_uri": "http://127.0.0.1:9/device",
    "expires_in": 600,
    "interval": 1,
}
_NO_GRANT = {
    "error": "invalid_grant",
    "error_description": f"{CANARIES['device code']} gave {GRANTED} at {SIGNED}",
}

#: What it does to every call -> status, body and headers.
MOODS: Mapping[str, tuple[int, bytes, dict[str, str]]] = {
    "401 that repeats the key": _error(401),
    "400 with a signed address": _error(400),
    "500 page with a signed address": (500, _PAGE, {"Content-Type": "text/html"}),
    "redirect with a token": (307, b"", {"Location": f"https://{KEY}@x.example/?token={GRANTED}"}),
    "half-sent JSON with a key": (200, _BROKEN, {}),
    "words for states that are keys": _data(
        {
            "id": "vid_1",
            "status": f"gone with {KEY}",
            "credits": 5,
            "title": f"video of {GRANTED}",
            "url": SIGNED,
            "secret": HOOK,
            "videos": [{"id": "vid_1", "status": KEY, "share": SIGNED}],
        },
        202,
    ),
}


class Hostile(ThreadingHTTPServer):
    """A server in one of MOODS."""

    daemon_threads = True
    mood = next(iter(MOODS))

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: Hostile

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.endswith("/device_authorization"):
            status, body, headers = 200, json.dumps(_CODES).encode(), {}
        elif self.path.endswith("/oauth/token"):
            status, body, headers = 400, json.dumps(_NO_GRANT).encode(), {}
        else:
            status, body, headers = MOODS[self.server.mood]
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def hostile() -> Iterator[Hostile]:
    """Run it on a free port."""
    server = Hostile(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
