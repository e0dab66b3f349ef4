"""What somebody else of the organisation does to the videos of a campaign."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.programs import Sandbox
from tests.torture.books import Books

#: Gets the service, and the ledger as it is at that moment.
Meddler = Callable[[Sandbox, Books], None]

#: Gets the service and the campaign's name; returns the ids of the videos that it made, by name.
Maker = Callable[[Sandbox, str], dict[str, str]]

PATIENCE = 60.0


def undo_and_make_anew(service: Sandbox, books: Books) -> None:
    """Cancel the video of the row `undone`; give that of `tool` another voice, which costs more.

    Returns once every video has come to its end, that of `late` too.
    """
    takes = {take["id"]: take["video_id"] for take in books.takes}
    videos = {line["row"]: takes[line["take_id"]] for line in books.rows}
    _wait(service, videos["tool"])
    service.post(f"videos/{videos['undone']}/cancel", {})
    service.post(f"videos/{videos['tool']}/voice", {"voice_id": "alto"})
    for row in ("tool", "late"):
        _wait(service, videos[row])


def make_elsewhere(service: Sandbox, campaign: str) -> dict[str, str]:
    """Make two videos that no campaign knows: `old` and `older`."""
    made = {}
    for name in ("old", "older"):
        asked = {"tool": "explainer", "fields": {"subject": f"{name} of {campaign}"}}
        made[name] = str(service.post("videos", {**asked, "duration_seconds": 5})["id"])
    for video_id in made.values():
        _wait(service, video_id)
    return made


def grow_old(service: Sandbox, books: Books) -> None:
    """Have its videos lie at the service for longer than they are to be kept there."""
    time.sleep(1.5)


def _wait(service: Sandbox, video_id: str) -> None:
    until = time.monotonic() + PATIENCE
    while service.video(video_id)["status"] == "generating":
        assert time.monotonic() < until, f"the video of {video_id} does not come"
        time.sleep(0.05)
