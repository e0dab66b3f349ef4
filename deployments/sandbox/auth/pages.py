"""Owns how a page is made: its template, and headers under which no script can run in it, nobody
can frame it, and nothing of it is kept or told to the next site."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

STYLE = (files("deployments.sandbox.auth") / "pages.css").read_text(encoding="utf-8")
SERVICE = "Video Generation Service"

_templates = Environment(
    loader=PackageLoader("deployments.sandbox.auth"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def shown(
    template: str, *, status: int = 200, form_leads_to: str = "", **context: object
) -> HTMLResponse:
    """Render a page. `form_leads_to`: an origin its form may end at, beside this one."""
    html = _templates.get_template(template).render(
        {"service": SERVICE, "visitor": None, **context}
    )
    policy = (
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; "
        f"frame-ancestors 'none'; form-action 'self' {form_leads_to}".rstrip()
    )
    return HTMLResponse(
        html,
        status,
        {
            "content-security-policy": policy,
            "x-frame-options": "DENY",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cache-control": "no-store",
        },
    )


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%-d %b %Y, %H:%M} UTC"


_templates.filters["moment"] = _moment
