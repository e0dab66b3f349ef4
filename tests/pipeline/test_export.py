"""`callsheet export` and `callsheet explain` over a campaign that was really run."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.programs import Desk, simple_sheet


def test_a_campaign_is_exported_in_every_way(desk: Desk, name: str, tmp_path: Path) -> None:
    text = simple_sheet(3, columns=",cost_center,tags,notes", cells=',north,"a,b",=1+1')
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    rows = desk.rows(name)

    told = desk.call("export", name, "-o", "rows.csv", "--json")

    assert told.status == 0, told.err
    assert told.json == {
        "campaign": name, "what": "rows", "format": "csv", "lines": 3, "file": "rows.csv",
        "exit": 0,
    }  # fmt: skip
    assert (tmp_path / "rows.csv").read_bytes().startswith(b"\xef\xbb\xbfcampaign,row,")
    with (tmp_path / "rows.csv").open(encoding="utf-8-sig", newline="") as file:
        lines = {line["row"]: line for line in csv.DictReader(file)}
    assert list(lines) == list(rows)
    for row, line in lines.items():
        assert line["key"] == rows[row]["key"]
        assert line["video_id"] == rows[row]["video_id"]
        assert line["video"] == rows[row]["deliveries"][0]["uri"]
        assert (line["notes"], line["charged"]) == ("'=1+1", "15")
    piped = desk.call("export", name, "--format", "jsonl", "--what", "takes")
    assert [line["key"] for line in piped.lines] == [row["key"] for row in rows.values()]
    events = desk.call("export", name, "--what", "events", "--format", "jsonl").lines
    assert sum(event["new"] == "delivered" for event in events) == 3
    desk.call("export", name, "--what", "chargeback", "-o", "costs.jsonl")
    costs = [json.loads(line) for line in (tmp_path / "costs.jsonl").read_text().splitlines()]
    assert [(line["by"], line["name"], line["charged"]) for line in costs] == [
        ("cost_center", "north", 45), ("tag", "a", 45), ("tag", "b", 45), ("campaign", None, 45),
    ]  # fmt: skip


def test_what_an_ad_platform_needs_is_exported(desk: Desk, name: str, tmp_path: Path) -> None:
    columns = ",x_ad_name,X_Click_URL,x_utm_source,x_utm_campaign"
    cells = ",Kettle DE,https://shop.example/k?utm_source=own&v=1#top,newsletter,spring sale"
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3, columns=columns, cells=cells))
    desk.environ["CALLSHEET_LINKS"] = "public https://cdn.example"
    assert desk.run(sheet).status == 0
    rows = desk.rows(name)
    shown, rejected, _ = rows
    desk.call("review", name, rejected, "reject")

    told = desk.call("export", name, "--what", "traffic", "--format", "jsonl")

    line, other = told.lines
    assert rejected not in (line["row"], other["row"])
    assert (line["row"], line["ad_name"]) == (shown, "Kettle DE")
    assert line["file"] == rows[shown]["deliveries"][0]["uri"]
    assert line["link"].startswith("https://cdn.example/")
    assert (line["utm_source"], line["utm_medium"]) == ("newsletter", None)
    # What the address says itself stays.
    address = "https://shop.example/k?utm_source=own&v=1&utm_campaign=spring+sale#top"
    assert line["landing_url"] == address
    assert line["poster"].endswith(".jpg")


def test_an_address_that_is_none_is_exported_as_it_is(desk: Desk, name: str) -> None:
    cells = ",https://[shop/k,newsletter"
    text = simple_sheet(1, columns=",x_click_url,x_utm_source", cells=cells)
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0

    told = desk.call("export", name, "--what", "traffic", "--format", "jsonl")

    assert (told.status, told.err) == (0, "")
    assert told.lines[0]["landing_url"] == told.lines[0]["click_url"] == "https://[shop/k"


def test_an_export_that_cannot_be_written_says_so(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0

    for words, said in (
        ((name, "-o", "no/such/folder.csv"), "there is no folder no/such"),
        ((name, "--json"), "--json tells how an export went, so the export itself needs a file"),
        (("nobody",), 'there is no campaign "nobody" in the ledger'),
    ):
        refused = desk.call("export", *words)
        assert (refused.status, refused.err.partition("\n")[0]) == (
            2, f"callsheet: {said}; nothing was spent"
        )  # fmt: skip


@pytest.mark.merge
def test_a_row_is_explained_with_what_decided_and_what_to_do(desk: Desk, name: str) -> None:
    assert desk.run(desk.sheet(f"{name}.csv", simple_sheet(1))).status == 0

    ended = desk.call("explain", name, "r001")
    found = desk.call("explain", name, "r001", "--json").json

    assert f"callsheet verify {name} --select r001" in ended.out
    assert "delivered and unchanged" in ended.out
    assert found["next_run"]["action"] == "none"
    (take,) = found["takes"]
    assert take["key"] == found["key"]
    assert f"{take['key'][:12]}…" in ended.out
    assert take["key"] in desk.call("explain", name, "r001", "-v").out
    assert [file["kind"] for file in take["deliveries"]] == ["mp4", "srt", "vtt"]
    assert take["delivered_at"] >= take["intended_at"]
    assert found["quotes"][0]["words"] == "15 credits"


def test_a_signed_address_in_a_sheet_is_not_told_on(desk: Desk, name: str) -> None:
    sheet = (
        "id,operation,image,duration_seconds,max_credits,notes\n"
        "a,image-to-video,https://img.example/a.png?X-Amz-Signature=5ecre7,5,50,see\n"
    )
    assert desk.run(desk.sheet(f"{name}.csv", sheet)).status == 0

    for words in (("explain", name, "a"), ("explain", name, "a", "--json"), ("export", name)):
        told = desk.call(*words)
        assert told.status == 0, told.err
        assert "5ecre7" not in told.out + told.err
