"""Public links that need no account and end, and reports that are kept."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest


@pytest.fixture(scope="module")
def brief(begin: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A sandbox whose links live for six seconds."""
    options = ("--render", "instant", "--time-scale", "100000")
    return begin(*options, state=tmp_path_factory.mktemp("sharing"))


def share(running: Any, video: str) -> dict[str, Any]:
    answer = running.client.post(f"/videos/{video}/share-link")
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


@pytest.mark.merge
def test_a_link_leads_anyone_to_the_video_and_ends(brief, anyone):
    video = brief.create(title="<b>Spring & tea</b>")
    brief.wait(video)
    link = share(brief, video)
    assert anyone.get(link["url"]).headers["content-type"] == "video/mp4"
    page = anyone.get(link["page_url"])
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "&lt;b&gt;Spring &amp; tea&lt;/b&gt;" in page.text
    found = re.search(r'<video [^>]*src="([^"]+)"', page.text)
    assert link["url"] == brief.ready["auth_url"] + found[1]
    rendered = anyone.get(link["url"], headers={"range": "bytes=0-11"})
    assert (rendered.status_code, rendered.headers["content-type"]) == (206, "video/mp4")
    assert rendered.content[4:8] == b"ftyp"
    until = time.monotonic() + 60
    while anyone.get(link["url"]).status_code == 200:
        assert time.monotonic() < until
        time.sleep(0.2)
    assert anyone.get(link["url"]).status_code == 410
    assert anyone.get(link["page_url"]).status_code == 410


def test_a_link_is_good_for_days_unless_the_video_is_deleted_or_it_is_made_up(
    instant, slow, anyone
):
    video = instant.create()
    instant.wait(video)
    link = share(instant, video)
    url = link["page_url"]
    assert link["expires_in"] == 7 * 86_400
    assert anyone.get(url[:-1] + ("0" if url[-1] != "0" else "1")).status_code == 404
    instant.client.delete(f"/videos/{video}")
    assert anyone.get(url).status_code == anyone.get(f"{url}.mp4").status_code == 404
    # There is nothing to share before the video.
    assert slow.client.post(f"/videos/{slow.create()}/share-link").status_code == 409


def test_a_report_with_a_reason_is_kept(instant):
    video = instant.create(start_generation=False)
    said = {"reason": "It shows a face", "details": "At second three."}
    told = instant.post(f"/videos/{video}/report", **said).json()["data"]
    kept = instant.client.get(instant.door("reports")).json()[-1]
    assert (kept["id"], kept["video_id"]) == (told["id"], video)
    assert said.items() <= told.items()
    assert said.items() <= kept.items()
    refused = instant.post(f"/videos/{video}/report", details="Hm")
    assert (refused.status_code, "reason" in refused.text) == (400, True)
