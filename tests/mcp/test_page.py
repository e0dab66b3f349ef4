"""The page that a client shows for `show_videos`, in a real browser, within a client's frame."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client
from playwright.async_api import Browser, Page

from callsheet.deployments.mcp.server import VIDEOS
from tests.mcp.conftest import OpenDesk, call, finished

#: What a client does for a page in its frame: it answers, tells the tool's result, and calls tools.
HOST = """
<!doctype html><meta name="viewport" content="width=device-width">
<iframe id="frame" sandbox="allow-scripts" style="width:100%;border:0;height:900px"></iframe>
<script>
const frame = document.getElementById("frame");
window.initialized = false;
addEventListener("message", async ({ source, data }) => {
  if (source !== frame.contentWindow) return;
  const answer = (result) => source.postMessage({ jsonrpc: "2.0", id: data.id, result }, "*");
  if (data.method === "ui/initialize") answer({ protocolVersion: "2026-01-26", hostCapabilities: {},
    hostInfo: { name: "stub", version: "1" }, hostContext: { theme: window.theme || "light" } });
  else if (data.method === "ui/notifications/initialized") source.postMessage({ jsonrpc: "2.0",
    method: "ui/notifications/tool-result", params: JSON.parse(await window.result()) }, "*");
  else if (data.method === "tools/call")
    answer(JSON.parse(await window.tool(JSON.stringify(data.params))));
});
</script>
"""
#: With a title that is markup, which has to stay text.
SHEET = """id,title,topic,script
a,One <b>bold</b>,Lighthouse,Here is the lighthouse.
b,Two,Harbor,Here is the harbor.
"""


async def opened(browser: Browser, client: Client, campaign: str, *, width: int = 1000) -> Page:
    """Return a client's page that shows the videos of a campaign in its frame."""
    page = await browser.new_page(viewport={"width": width, "height": 900})

    async def result() -> str:
        answer = await client.call_tool("show_videos", {"campaign": campaign})
        return answer.model_dump_json(by_alias=True, exclude_none=True)

    async def tool(asked: str) -> str:
        params: dict[str, Any] = json.loads(asked)
        answer = await client.call_tool(params["name"], params["arguments"])
        return answer.model_dump_json(by_alias=True, exclude_none=True)

    await page.expose_function("result", result)
    await page.expose_function("tool", tool)
    await page.set_content(HOST)
    html = (await client.read_resource(VIDEOS)).contents[0]
    assert html.mime_type == "text/html;profile=mcp-app"
    text = html.text  # type: ignore[union-attr]
    await page.evaluate("text => { document.getElementById('frame').srcdoc = text }", text)
    return page


@pytest.mark.merge
async def test_videos_are_kept_and_rejected_on_the_page(desk: OpenDesk, chromium: Browser) -> None:
    await desk.allow(500)
    async with desk.client() as client:
        tool = next(t for t in (await client.list_tools()).tools if t.name == "show_videos")
        assert (tool.meta or {})["ui"]["resourceUri"] == VIDEOS
        plan = await call(client, "plan", sheet=SHEET, campaign="page")
        await call(client, "run_plan", plan=plan["plan"])
        await finished(client, "page")
        page = await opened(chromium, client, "page")
        frame = page.frame_locator("#frame")
        cards = frame.locator("article")
        await cards.first.wait_for()
        assert await cards.count() == 2
        assert await cards.first.locator("h2").text_content() == "One <b>bold</b>"
        sizes = await cards.locator("img").evaluate_all("all => all.map(i => i.naturalWidth)")
        assert all(size > 0 for size in sizes)

        await cards.first.get_by_role("button", name="Keep").click()
        await cards.first.get_by_text("Kept.").wait_for()
        await cards.last.get_by_label("Reason for b").fill("too dark")
        await cards.last.get_by_role("button", name="Reject").click()
        await cards.last.get_by_text("Rejected.").wait_for()
        # What somebody decided stays, and the page says so.
        await cards.last.get_by_role("button", name="Keep").click()
        await cards.last.get_by_text("Not saved").wait_for()

        rows = (await call(client, "rows", campaign="page"))["rows"]
        said = [(row["review"], row["review_reason"]) for row in rows]
        assert said == [("keep", None), ("reject", "too dark")]
        await page.close()
