"""No viewer and no agent learns where the machine keeps its files."""

from __future__ import annotations

import re
from contextlib import aclosing
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.board.conftest import board_at
from tests.board.test_roles import ROUTES
from tests.mcp.conftest import OpenDesk, call, finished, sheet_of
from tests.programs import Sandbox

#: Streams and whole files: of those nothing is looked at.
LONG = ("events", "paths/live", ".zip", ".mp4", "/videos/", "static")


@pytest.mark.merge
async def test_nobody_sees_where_files_are(
    desk: OpenDesk, service: Sandbox, tmp_path: Path
) -> None:
    await desk.allow(500)
    (tmp_path / "paths.csv").write_text(sheet_of(2))
    async with desk.client() as client:
        plan = await call(client, "plan", sheet="paths.csv")
        run = await call(client, "run_plan", plan=plan["plan"])
        ended = await finished(client, "paths")
        said = [plan, run, ended]
        said += [await call(client, tool, campaign="paths") for tool in ("rows", "show_videos")]
        said += [await call(client, "explain_row", campaign="paths", row="r0")]
        said += [(await client.call_tool("plan", {"sheet": name})).structured_content or {}
                 for name in ("none.csv", "../other.csv")]  # fmt: skip
        for uri in ("", "/row/r0", "/report.csv"):
            said += [{uri: str(await client.read_resource(f"callsheet://campaign/paths{uri}"))}]
    shown = {f"agent {number}": str(one) for number, one in enumerate(said)}
    filled = {"campaign": "paths", "row": "r0", "take": "1", "plan_id": plan["plan"],
              "plan": plan["plan"], "run": run["run"], "run_id": run["run"]}  # fmt: skip
    async with board_at(tmp_path, environ=service.environ) as opened:
        for name in sorted(ROUTES):
            method, _, path = name.partition(" ")
            path = re.sub(r"{(\w+)(:\w+)?}", lambda found: filled.get(found[1], "1"), path)
            if method == "GET" and not any(word in path for word in LONG):
                answer = await opened.viewer.get(path)
                shown[f"{path} {answer.status_code}"] = answer.text
        packed = await opened.viewer.get("/campaigns/paths/videos.zip")
        with ZipFile(BytesIO(packed.content)) as archive:
            shown["status sheet"] = archive.read("paths/status.csv").decode()
        address = "/api/v1/campaigns/paths/events"
        async with (
            opened.viewer.stream("GET", address) as events,
            aclosing(events.aiter_text()) as come,
        ):
            shown["events"] = ""
            while "paths.csv" not in shown["events"]:
                shown["events"] += await anext(come)
        for file in ("rows", "takes", "events", "traffic"):
            answer = await opened.viewer.get(f"/c/paths/report/{file}.csv")
            shown[f"{file} {answer.status_code}"] = answer.text
    leaks = {where: text[max(0, text.find(str(tmp_path)) - 60) : text.find(str(tmp_path)) + 90]
             for where, text in shown.items() if str(tmp_path) in text}  # fmt: skip
    assert leaks == {}
    assert sum(" 200" in where for where in shown) > 20, sorted(shown)
