"""Videos at the service that are not needed there are deleted on the board as they were listed."""

from __future__ import annotations

import contextlib
import urllib.error
from pathlib import Path

from tests.board.conftest import board_at
from tests.fixtures import sandbox_fixture
from tests.programs import Desk, Sandbox, simple_sheet

service = sandbox_fixture("--credits", "1000000", "--time-scale", "600")


def has(service: Sandbox, video_id: str) -> bool:
    """Say whether the service still has a video."""
    with contextlib.suppress(urllib.error.HTTPError):
        return bool(service.video(video_id))
    return False


async def test_what_was_listed_alone_is_deleted(tmp_path: Path, service: Sandbox) -> None:
    desk = Desk(tmp_path, dict(service.environ))
    desk.run(desk.sheet("spring.csv", simple_sheet(3)))
    videos = [row["video_id"] for row in desk.rows("spring").values()]
    desk.run(desk.sheet("spring.csv", simple_sheet(1)), "--retire")
    address = "/api/v1/campaigns/spring/prune"

    async with board_at(tmp_path, environ=service.environ) as board:
        assert (await board.reviewer.get(address)).status_code == 403
        listed = (await board.approver.get(address)).raise_for_status().json()
        foreign = await board.approver.post(address, json={"videos": [videos[0]]})
        assert (foreign.status_code, has(service, videos[0])) == (422, True)
        done = (await board.approver.post(address, json={"videos": [videos[1]]})).json()

        assert [(one["video_id"], one["because"]) for one in listed["videos"]] == [
            (video, "its row left the sheet") for video in videos[1:]
        ]
        assert (done["deleted"], done["exit"]) == (1, 0)
        assert [has(service, video) for video in videos] == [True, False, True]

        form = await board.form("approver")
        page = await form.get("/c/spring/prune")
        assert "Delete 1 video" in page.text
        assert f'value="{videos[2]}"' in page.text
        assert videos[1] not in page.text
        file = Path(desk.rows("spring")["r003"]["deliveries"][0]["uri"])
        content = file.read_bytes()
        file.unlink()
        told = await form.post("/c/spring/prune", data={"video": videos[2]})
        assert "0 videos deleted at the service" in told.text
        assert "Its mp4 in the store: it is not there" in told.text
        assert has(service, videos[2])
        file.write_bytes(content)
        told = await form.post("/c/spring/prune", data={"video": videos[2]})
        assert "1 video deleted at the service" in told.text
        assert "Nothing to delete" in told.text
        assert (await form.get("/activity")).text.count("prune") >= 1
    assert [has(service, video) for video in videos] == [True, False, False]
    assert "by Ann" in desk.call("explain", "spring", "r003").out
