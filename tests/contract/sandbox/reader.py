"""A browser without a window: it reads a page's forms, fills them in and sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx

Pair = tuple[str, str]


@dataclass
class Form:
    """One form: where it goes, what it holds, and the buttons that send it."""

    action: str
    method: str
    fields: list[Pair] = field(default_factory=list)
    buttons: dict[str, list[Pair]] = field(default_factory=dict)


class Reader(HTMLParser):
    """Looks at one page after the other."""

    def __init__(self, http: httpx.Client) -> None:
        super().__init__()
        self._http = http

    def look(self, address: str) -> httpx.Response:
        """Open a page."""
        return self._read(self._http.get(address, follow_redirects=True))

    def press(self, button: str, *fields: Pair, leave_out: str = "") -> httpx.Response:
        """Press a button after filling in fields; a field can be left out instead."""
        form = next(form for form in self.forms if button in form.buttons)
        kept = [pair for pair in form.fields if pair[0] not in {leave_out, *dict(fields)}]
        said = [*kept, *fields, *form.buttons[button]]
        if form.method == "get":
            return self.look(str(httpx.URL(form.action, params=said)))
        return self._read(self.send(form.action, said))

    def send(self, action: str, said: list[Pair]) -> httpx.Response:
        """Send a form's fields; follow the answer while it stays on this site."""
        body = str(httpx.QueryParams(said))
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = self._http.post(action, content=body, headers=kind)
        if answer.headers.get("location", "").startswith("/"):
            return self._http.get(answer.headers["location"], follow_redirects=True)
        return answer

    def _read(self, answer: httpx.Response) -> httpx.Response:
        self.forms: list[Form] = []
        self._button: list[Pair] | None = None
        self.reset()
        self.feed(answer.text)
        return answer

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said: dict[str, Any] = dict(attrs)
        named = [(said["name"], said.get("value") or "")] if said.get("name") else []
        if tag == "form":
            self.forms.append(Form(said["action"], said["method"]))
        elif tag == "input" and self.forms and not _is_unticked(said):
            self.forms[-1].fields += named
        elif tag == "button":
            self._button, self._label = named, ""

    def handle_data(self, data: str) -> None:
        if self._button is not None:
            self._label += f" {data}"

    def handle_endtag(self, tag: str) -> None:
        if tag == "button" and self._button is not None:
            self.forms[-1].buttons[" ".join(self._label.split())] = self._button
            self._button = None


def _is_unticked(said: dict[str, Any]) -> bool:
    return said.get("type") == "checkbox" and "checked" not in said
