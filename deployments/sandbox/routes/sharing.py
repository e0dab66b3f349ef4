"""Owns what leaves the organization: public links to a film, and reports of a film."""

from __future__ import annotations

import html
from functools import partial

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import HTMLResponse

from deployments.sandbox import video
from deployments.sandbox.bodies import body_of
from deployments.sandbox.envelope import Refusal, success
from deployments.sandbox.house import House
from deployments.sandbox.records import ReportKept, ShareLink
from deployments.sandbox.reports import keep_report
from deployments.sandbox.routes.media import film_response
from deployments.sandbox.routes.operation import VideoId, add
from deployments.sandbox.video_bodies import ReportVideo

REPORT = Depends(body_of(ReportVideo))
PAGE = """<!doctype html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>
body {{ margin: 0; min-height: 100vh; display: grid; place-content: center; gap: 1rem;
  font: 1rem/1.4 system-ui, sans-serif; background: #14161c; color: #f2f2f5; text-align: center }}
video {{ max-width: 92vw; max-height: 74vh; border-radius: 12px }}
a {{ color: #9ec5ff }}
</style>
<h1>{title}</h1>
<video controls playsinline preload="metadata" src="{film}"></video>
<p><a href="{film}" download>Download the film (MP4)</a></p>
</html>
"""
GONE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>No film</title>
<p>{gone}</p>
</html>
"""


def router(house: House) -> APIRouter:
    """Make the routes."""
    routes = APIRouter()
    ops = Sharing(house)
    op = partial(add, routes, house, "POST", scope="write")
    op("/api/v1/videos/{video_id}/share-link", ops.share, name="share", answer=ShareLink,
       refusals=[404, 409])  # fmt: skip
    op("/api/v1/videos/{video_id}/report", ops.report, name="report", answer=ReportKept,
       refusals=[400, 404], body=ReportVideo)  # fmt: skip
    public = partial(routes.add_api_route, methods=["GET", "HEAD"], include_in_schema=False)
    public("/share/{token}.mp4", ops.film, dependencies=[house.counted("shared_file")])
    public("/share/{token}", ops.page, dependencies=[house.counted("shared_page")])
    return routes


class Sharing:
    """The operations themselves."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def share(self, video_id: VideoId) -> Response:
        """Make a public, expiring link to the MP4 for people without an account."""
        house = self._house
        found = await house.database.run(lambda db: video.get(db, video_id))
        if found.status != video.COMPLETED:
            message = f"This video is {found.status}; there is no film to share yet."
            raise Refusal(409, "not_ready", message)
        link = house.share_links.make(video_id, found.render, now=house.now())
        return success(
            {
                "url": f"{house.origin}{link.path}.mp4",
                "page_url": house.origin + link.path,
                "expires_at": video.stamp(link.expires),
                "expires_in": round(house.share_links.lifetime),
            }
        )

    async def report(
        self, video_id: VideoId, request: Request, asked: ReportVideo = REPORT
    ) -> Response:
        """Flag a video for review."""
        key, now = request.state.key.id, self._house.now()
        kept = await self._house.database.run(
            lambda db: keep_report(db, video_id, asked, key=key, now=now)
        )
        return success(kept)

    async def page(self, token: str) -> Response:
        """Show a film to whoever has the link; say in words when there is none any more."""
        try:
            video_id, _ = self._house.share_links.read(token, now=self._house.now())
            found = await self._house.database.run(lambda db: video.get(db, video_id))
        except Refusal as refusal:
            gone = refusal.message if refusal.status == 410 else "There is no film here."
            return HTMLResponse(GONE.format(gone=gone), refusal.status)
        title = found.asked["title"] or found.asked["topic"] or "A film for you"
        language = found.asked["language"] or "en"
        shown = {"title": title, "film": f"/share/{token}.mp4", "language": language}
        page = PAGE.format_map({name: html.escape(text) for name, text in shown.items()})
        # The link is a secret: no other site is to learn it from a browser.
        return HTMLResponse(page, headers={"referrer-policy": "no-referrer"})

    async def film(self, token: str) -> Response:
        """Serve the film itself."""
        video_id, render = self._house.share_links.read(token, now=self._house.now())
        return await film_response(self._house, video_id, render)
