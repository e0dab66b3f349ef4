"""Somebody with a browser, who answers at the sandbox what a program asks for.

Speaks to its pages by plain forms. As a program, `python -m tests.person ADDRESS` is a browser for
the BROWSER variable; `PERSON_DECISION` and `PERSON_GRANTS` say what its owner wants.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from html.parser import HTMLParser

import httpx

ADA, BEN = "ada@northlight.example", "ben@northlight.example"


class Person:
    """One person, who approves or declines."""

    def __init__(self, email: str = ADA) -> None:
        self.email = email
        self._http = httpx.Client(follow_redirects=True, timeout=30)

    def visit(self, address: str) -> httpx.Response:
        """Open an address, and return the page it leads to."""
        return self._http.get(address)

    def answer(
        self, address: str, *, decision: str = "approve", grants: Sequence[str] | None = None
    ) -> httpx.Response:
        """Open an address and press a button; return the last page."""
        page = self.visit(address)
        form = Form(page)
        granted = form.boxes if grants is None else list(grants)
        pressed = [("decision", decision), *(("grant", scope) for scope in granted)]
        pressed += [("email", self.email)] if form.asks_who else []
        return self._submit(page, form, pressed)

    def _submit(
        self, page: httpx.Response, form: Form, pressed: Sequence[tuple[str, str]]
    ) -> httpx.Response:
        pairs = [*form.hidden, *pressed]
        data: dict[str, list[str]] = {}
        for name, value in pairs:
            data.setdefault(name, []).append(value)
        return self._http.post(page.url.join(form.action), data=data)


class Form(HTMLParser):
    """The first form of a page: where it goes, its hidden fields and its check boxes."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self.action = ""
        self.hidden: list[tuple[str, str]] = []
        self.boxes: list[str] = []
        self.asks_who = False
        self._forms = 0
        self.feed(page.text)
        assert self.action, page.text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._forms += 1
            self.action = self.action or found["action"]
        self.asks_who |= tag == "input" and found.get("name") == "email"
        if tag == "input" and self._forms == 1 and found.get("type") == "hidden":
            self.hidden.append((found["name"], found["value"]))
        if tag == "input" and self._forms == 1 and found.get("type") == "checkbox":
            self.boxes.append(found["value"])


if __name__ == "__main__":
    grants = os.environ.get("PERSON_GRANTS")
    Person().answer(
        sys.argv[1],
        decision=os.environ.get("PERSON_DECISION", "approve"),
        grants=None if grants is None else grants.split(),
    )
