"""Looking at a page in a real browser: what it complains of, and whether everybody can use it.

async with watched(context) as complaints:      the content policy, faults of scripts, lost files
    ...
assert not await barriers(page)                 axe-core, in light or dark as the context is
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, Response

AXE = Path(__file__).parent / "axe" / "axe.min.js"
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: What a page asked for and then did not want any more, as somebody moved on.
GIVEN_UP = "net::ERR_ABORTED"
_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  window.violated(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""


@asynccontextmanager
async def watched(context: BrowserContext) -> AsyncIterator[list[str]]:
    """Collect what the pages of a context complain of; at the end there must be nothing.

    A test takes out of it what it has brought about on purpose.
    """
    complaints: list[str] = []

    def console(said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            complaints.append(f"{said.type}: {said.text}")

    def lost(request: Request) -> None:
        if request.failure != GIVEN_UP:
            complaints.append(f"{request.url}: {request.failure}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            complaints.append(f"{response.url}: {response.status}")

    await context.expose_binding("violated", lambda _, words: complaints.append(str(words)))
    await context.add_init_script(_VIOLATIONS)
    context.on("console", console)
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    context.on("requestfailed", lost)
    context.on("response", answered)
    yield complaints
    assert not complaints, complaints


async def barriers(page: Page, *, colors_alone: bool = False) -> list[str]:
    """Return what axe-core finds of WCAG 2.2 AA on a page: rule, element and why.

    The dark look of a page that was found good in the light one has `colors_alone` of its own.
    """
    # What the bar at the top covers in part counts as too small, so the page is not scrolled.
    await page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    await page.evaluate(_axe())
    found: dict[str, Any] = await page.evaluate(
        "(only) => axe.run(document, {runOnly: only})",
        ["color-contrast"] if colors_alone else STANDARDS,
    )
    return [
        f"{page.url} {fault['id']}: {node['target']} {node['failureSummary']}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]


async def picture(page: Page, name: str, **how: Any) -> None:
    """Take a picture of a page, where somebody asked for them: PICTURES=FOLDER pytest ..."""
    if folder := os.environ.get("PICTURES"):
        await page.screenshot(path=Path(folder) / f"{name}.png", **how)


@cache
def _axe() -> str:
    return AXE.read_text()
