"""Owns how section 5 of the specification says no: to a program as RFC 6749 has it, to a person
as a page. `HANDLERS` belongs to the application."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from deployments.sandbox.auth.pages import shown

NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}


class OAuthError(Exception):
    """A refusal to a program: `{"error", "error_description"}` and whatever else helps it.

    The description is plain ASCII without quotes, as RFC 6749 (5.2) demands, and repeats nothing
    of what was sent.
    """

    def __init__(
        self, error: str, description: str, *, status: int = 400, interval: int | None = None
    ) -> None:
        super().__init__(description)
        self.error = error
        self.description = description
        self.status = status
        self.interval = interval

    def answer(self) -> Response:
        body: dict[str, object] = {"error": self.error, "error_description": self.description}
        if self.interval is not None:
            body["interval"] = self.interval
        headers = {**NO_STORE, "www-authenticate": "Bearer"} if self.status == 401 else NO_STORE
        return JSONResponse(body, self.status, headers)


class PageRefused(Exception):
    """A refusal to a person: a title and a sentence that says what to do next."""

    def __init__(self, title: str, sentence: str, *, status: int = 400) -> None:
        super().__init__(sentence)
        self.title = title
        self.sentence = sentence
        self.status = status


class SentBack(Exception):
    """A refusal that the person's browser carries back to the program that sent it here."""

    def __init__(self, location: str) -> None:
        super().__init__("sent back to the program")
        self.location = location


async def _oauth_error(_: Request, error: OAuthError) -> Response:
    return error.answer()


async def _page_refused(_: Request, error: PageRefused) -> Response:
    return shown(
        "told.html", status=error.status, title=error.title, sentence=error.sentence, mood="bad"
    )


async def _sent_back(_: Request, error: SentBack) -> Response:
    return RedirectResponse(error.location, 303, NO_STORE)


Handler = Callable[[Request, Any], Coroutine[Any, Any, Response]]
HANDLERS: dict[int | type[Exception], Handler] = {
    OAuthError: _oauth_error,
    PageRefused: _page_refused,
    SentBack: _sent_back,
}
