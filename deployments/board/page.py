"""How a page is made: a template, what it shows, and who is looking. No string of it is markup."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from deployments.board.who import Person
from tasks.credits import as_text
from tasks.plural import count

_TEMPLATES = Environment(
    loader=PackageLoader("deployments.board"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters["credits"] = as_text
_TEMPLATES.globals["count"] = count


def page(
    request: Request, template: str, person: Person | None, *, status: int = 200, **shown: Any
) -> HTMLResponse:
    """Return a template filled in: a whole page, or a fragment (`_name.html`) of one."""
    text = _TEMPLATES.get_template(template).render(
        person=person, path=request.url.path, board=request.app.state.board, **shown
    )
    return HTMLResponse(text, status)
