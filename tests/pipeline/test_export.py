"""`callsheet export`, `explain`, `contact-sheet` and `costs`, of campaigns that were really run."""

from __future__ import annotations

import base64
import csv
import io
import re
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest
from PIL import Image
from pyarrow import parquet

from tests.programs import Desk, simple_sheet


def test_a_campaign_is_exported_in_every_way(desk: Desk, name: str) -> None:
    text = simple_sheet(3, columns=",cost_center,tags,notes", cells=',north,"a,b",=1+1')
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    rows = desk.rows(name)
    told = desk.call("export", name, "-o", "rows.csv", "--json")
    assert told.json == {
        "campaign": name, "what": "rows", "format": "csv", "lines": 3, "file": "rows.csv",
        "exit": 0,
    }, told.err  # fmt: skip
    file = (desk.folder / "rows.csv").read_bytes()
    assert file.startswith(b"\xef\xbb\xbfcampaign,row,")
    lines = {line["row"]: line for line in csv.DictReader(file.decode("utf-8-sig").splitlines())}
    assert list(lines) == list(rows)
    for row, line in lines.items():
        assert (line["key"], line["video_id"]) == (rows[row]["key"], rows[row]["video_id"])
        assert line["video"] == rows[row]["deliveries"][0]["uri"]
        assert (line["notes"], line["charged"]) == ("'=1+1", "15")
    piped = desk.call("export", name, "--format", "jsonl", "--what", "takes")
    assert [line["key"] for line in piped.lines] == [row["key"] for row in rows.values()]
    events = desk.call("export", name, "--what", "events", "--format", "jsonl").lines
    assert sum(event["new"] == "delivered" for event in events) == 3
    costs = desk.call("export", name, "--what", "chargeback", "--format", "jsonl").lines
    assert [(line["by"], line["name"], line["charged"]) for line in costs] == [
        ("cost_center", "north", 45), ("tag", "a", 45), ("tag", "b", 45), ("campaign", None, 45),
    ]  # fmt: skip
    for words, said in (
        ((name, "-o", "no/such/folder.csv"), "there is no folder no/such"),
        ((name, "--json"), "--json tells how an export went, so the export itself needs a file"),
        (("nobody",), 'there is no campaign "nobody" in the ledger'),
    ):
        refused = desk.call("export", *words)
        first = refused.err.partition("\n")[0]
        assert (refused.status, first) == (2, f"callsheet: {said}; nothing was spent")


def test_what_an_ad_platform_needs_is_exported(desk: Desk, name: str) -> None:
    columns = ",x_ad_name,X_Click_URL,x_utm_source,x_utm_campaign"
    cells = ",Kettle DE,https://shop.example/k?utm_source=own&v=1#top,newsletter,spring sale"
    text = simple_sheet(3, columns=columns, cells=cells).splitlines()
    # An address that is none is exported as it is.
    text[3] = text[3].replace("https://shop.example/k?utm_source=own&v=1#top", "https://[shop/k")
    desk.environ["CALLSHEET_LINKS"] = "public https://cdn.example"
    assert desk.run(desk.sheet(f"{name}.csv", "\n".join(text))).status == 0
    rows = desk.rows(name)
    desk.call("review", name, "r002", "reject")
    told = desk.call("export", name, "--what", "traffic", "--format", "jsonl")
    line, other = told.lines
    assert (told.err, line["row"], other["row"]) == ("", "r001", "r003")
    assert (line["ad_name"], line["file"]) == ("Kettle DE", rows["r001"]["deliveries"][0]["uri"])
    assert line["link"].startswith("https://cdn.example/")
    assert (line["utm_source"], line["utm_medium"]) == ("newsletter", None)
    # What the address says itself stays.
    address = "https://shop.example/k?utm_source=own&v=1&utm_campaign=spring+sale#top"
    assert line["landing_url"] == address
    assert line["poster"].endswith(".jpg")
    assert other["landing_url"] == other["click_url"] == "https://[shop/k"


def test_no_output_takes_the_place_of_the_sheet(desk: Desk, name: str) -> None:
    sheet = desk.sheet(f"{name}.csv", simple_sheet(1))
    assert desk.run(sheet).status == 0
    before = (desk.folder / f"{name}.csv").read_bytes()
    for words in (("export", name, "-o", f"./{name}.csv"), ("plan", sheet, "-o", f"{name}.csv")):
        refused = desk.call(*words)
        assert refused.status == 2
        assert f"{name}.csv is the sheet itself, and would be replaced" in refused.err
    assert (desk.folder / f"{name}.csv").read_bytes() == before


def test_the_address_of_a_click_keeps_its_letters_and_macros_when_tags_are_added(
    desk: Desk, name: str
) -> None:
    cells = ",https://shop.example/k?q=a%20b&flag&ad={{ad.id}},{{ad.name}}"
    text = simple_sheet(1, columns=",x_click_url,x_utm_content", cells=cells)
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    [line] = desk.call("export", name, "--what", "traffic", "--format", "jsonl").lines
    address = "https://shop.example/k?q=a%20b&flag&ad={{ad.id}}&utm_content={{ad.name}}"
    assert line["landing_url"] == address


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
        assert (told.status, "5ecre7" in told.out + told.err) == (0, False), told.err


@pytest.fixture
def made(desk: Desk, name: str) -> Path:
    """The folder of a campaign with r001 to r003, of which r002 is kept."""
    sheet = desk.sheet(f"{name}.csv", simple_sheet(3, columns=",tags", cells=",new"))
    assert desk.run(sheet).status == 0
    assert desk.call("review", name, "r002", "keep").status == 0
    return desk.folder / "deliveries" / name


def status_of(archive: ZipFile, name: str) -> dict[str, dict[str, str]]:
    text = archive.read(f"{name}/status.csv").decode("utf-8-sig")
    return {line["cs_row"]: line for line in csv.DictReader(io.StringIO(text))}


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ((), {"r001", "r002", "r003"}),
        (("--kept",), {"r002"}),
        (("--select", "r001,r003"), {"r001", "r003"}),
        (("--select", "tag:new,!r001", "--kept"), {"r002"}),
    ],
)
def test_the_zip_has_what_was_chosen(
    desk: Desk, made: Path, name: str, words: tuple[str, ...], rows: set[str]
) -> None:
    ended = desk.call("export", name, "--zip", "v.zip", *words, "--json")
    assert (ended.status, ended.json["videos"], ended.json["missing"]) == (0, len(rows), [])
    with ZipFile(desk.folder / "v.zip") as archive:
        assert archive.testzip() is None
        files = {f"{row}/{row}-take1.{kind}" for row in rows for kind in ("mp4", "srt", "vtt")}
        assert set(archive.namelist()) == {f"{name}/{one}" for one in (*files, "status.csv")}
        for one in files:
            assert archive.read(f"{name}/{one}") == (made / one).read_bytes()
        video = archive.getinfo(f"{name}/{min(rows)}/{min(rows)}-take1.mp4")
        assert video.compress_type == ZIP_STORED
        status = status_of(archive, name)
    assert {row: line["cs_file_mp4"] for row, line in status.items()} == {
        row: f"{name}/{row}/{row}-take1.mp4" for row in rows
    }


@pytest.mark.safeguard(
    "tasks/aftercare/archive.py",
    'if (found.sha256, found.bytes) != (file["sha256"], file["bytes"]):',
    "if False:",
)
def test_what_is_missing_or_damaged_is_told_in_the_zip_and_by_the_exit_status(
    desk: Desk, made: Path, name: str
) -> None:
    (made / "r001" / "r001-take1.srt").unlink()
    (made / "r003" / "r003-take1.mp4").write_bytes(b"half a video")
    ended = desk.call("export", name, "--zip", "v.zip", "--json")
    missing = [f"{name}/r001/r001-take1.srt", f"{name}/r003/r003-take1.mp4"]
    assert (ended.status, ended.json["videos"], ended.json["missing"]) == (3, 2, missing)
    assert f"callsheet verify {name} --repair" in ended.err
    with ZipFile(desk.folder / "v.zip") as archive:
        assert not set(missing) & set(archive.namelist())
        status = status_of(archive, name)
    assert status["r001"]["cs_file_srt"] == "MISSING: it is not in the store"
    words = "MISSING: the file in the store is not the one that was delivered"
    assert status["r003"]["cs_file_mp4"] == words


@pytest.mark.merge
def test_a_zip_that_cannot_be_meant_is_refused_and_nothing_is_written(
    desk: Desk, made: Path, name: str
) -> None:
    for words in (
        ("--zip", "v.zip", "--select", "r009"),
        ("--zip", "v.zip", "--select", "r001", "--kept"),
        ("--zip", "v.zip", "-o", "rows.csv"),
        ("--zip", "no/such/folder.zip"),
        ("--kept",),
        ("--select", "r001", "-o", "rows.csv"),
    ):
        assert desk.call("export", name, *words).status == 2, words
        assert not list(desk.folder.glob("*v.zip*"))


SHEET = """id,tool,fields.product,aspect_ratio,duration_seconds,title,language
one,product-launch,Tea,9:16,5,<script>alert(1)</script> & Grüße,de
two,product-launch,Coffee,16:9,5,The second,en
"""


@pytest.mark.merge
def test_a_contact_sheet_is_a_page_that_needs_nothing_else(desk: Desk, name: str) -> None:
    """One of its two videos is rejected by somebody."""
    assert desk.run(desk.sheet(f"{name}.csv", SHEET)).status == 0
    words = ("--because", "wording", "--note", "says <b>tee</b>")
    assert desk.call("review", name, "one", "reject", *words).status == 0
    history = desk.call("explain", name, "one").out
    assert history.count("UTC  rejected  by ") == 2, "with its take, and in the history"
    for options, told in (
        (["-o", "videos.pdf"], "is not a web page"),
        (["-o", "nowhere/videos.html"], "there is no folder"),
        (["-o", "videos.html", "--select", "language:fr"], "language:fr matches no row"),
        ([], "-o"),
    ):
        refused = desk.call("contact-sheet", name, *options)
        assert (refused.status, told in refused.err) == (2, True), refused.err
        assert not list(desk.folder.glob("videos.*"))
    ended = desk.call("contact-sheet", name, "-o", "videos.html", "--json")
    page = (desk.folder / "videos.html").read_text()
    assert (ended.json["videos"], ended.json["bytes"]) == (2, len(page.encode())), ended.err
    sizes = []
    for source in re.findall(r'src="([^"]+)"', page):
        kind, _, data = source.partition(",")
        assert kind == "data:image/jpeg;base64"
        sizes.append(Image.open(io.BytesIO(base64.b64decode(data))).size)
    assert (len(sizes), sizes[1::2]) == (4, [(900, 160), (1600, 90)])
    assert not re.search(r"<(script|video|link|iframe|b)\b|https?://|url\(", page)
    for said in (
        "&lt;script&gt;alert(1)&lt;/script&gt; &amp; Grüße",
        "rejected: wording: says &lt;b&gt;tee&lt;/b&gt;",
        "0 kept, 1 rejected, 1 undecided; 2 with a finding",
        "it is 1 s long, 5 s were asked for",
    ):
        assert said in page
    chosen = ("-o", "videos.html", "--select", "language:en", "--json")
    assert desk.call("contact-sheet", name, *chosen).json["videos"] == 1
    page = (desk.folder / "videos.html").read_text()
    assert ("The second" in page, "Grüße" in page) == (True, False)


@pytest.mark.merge
def test_costs_are_told_in_credits_and_in_money(desk: Desk, name: str) -> None:
    text = simple_sheet(2, columns=",x_brand", cells=",Acme")
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    profile = desk.sheet("priced.toml", 'credit_price = "0.12 USD"\n')
    told = desk.call("costs", "--by", "brand", "--json", "--profile", profile)
    line = {"videos": 2, "takes": 2, "retakes": 0, "charged": 30, "reserved": 0, "money": 3.6}
    assert told.json == {
        "by": "brand", "costs": [{"name": "Acme", **line}], "total": {"name": None, **line},
        "currency": "USD", "exit": 0,
    }, told.err  # fmt: skip
    assert "total: 30 credits (3.60 USD)" in told.err
    assert desk.call("costs", "--since", "2100-01", "--json").json["costs"] == []
    wrong = desk.call("costs", "--by", "x_band")
    assert (wrong.status, "did you mean brand?" in wrong.err) == (2, True)
    for words in (("--since", "soon"), ("--since", "2026-12", "--until", "2026-11")):
        assert desk.call("costs", *words).status == 2
    # A row that was made again has one video, as in the campaign and in a ZIP.
    again = desk.call("retake", name, "r001", "--yes", "--run")
    assert "2 delivered; this run was charged 15 credits, the campaign has cost 45" in again.out
    total = desk.call("costs", "--json").json["total"]
    assert (total["videos"], total["takes"], total["retakes"]) == (2, 3, 1)


def test_costs_by_a_column_of_ones_own_are_a_file_for_spreadsheets(desk: Desk, name: str) -> None:
    """A name that is a formula is none in the file."""
    text = simple_sheet(3, columns=",X Client", cells=",Tea Co").replace("Tea Co", "=1+1", 1)
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    desk.environ["CALLSHEET_CREDIT_PRICE"] = "0.12 USD"
    said = desk.call("costs", "--by", "x_client", "-o", "costs.csv")
    file = (desk.folder / "costs.csv").read_bytes()
    assert "2 lines in costs.csv" in said.out
    assert file.decode("utf-8-sig").splitlines() == [
        "x_client,videos,takes,retakes,reserved,charged,money,currency",
        "Tea Co,2,2,0,0,30,3.6,USD",
        "'=1+1,1,1,0,0,15,1.8,USD",
    ]
    assert desk.call("costs", "--by", "x_client", "-o", "-").out.encode() == file
    assert desk.call("costs", "-o", "-", "--json").status == 2


def test_a_column_of_ones_own_is_text_in_parquet_whatever_its_name_ends_in(
    desk: Desk, name: str
) -> None:
    text = simple_sheet(1, columns=",x_shot_at", cells=",2026-11-03")
    assert desk.run(desk.sheet(f"{name}.csv", text)).status == 0
    said = desk.call("costs", "--by", "x_shot_at", "-o", "costs.parquet")
    assert said.status == 0, said.err
    [line] = parquet.read_table(desk.folder / "costs.parquet").to_pylist()
    assert (line["x_shot_at"], line["charged"]) == ("2026-11-03", 15)


def test_every_price_is_told_in_money_too(desk: Desk, name: str) -> None:
    desk.environ["CALLSHEET_CREDIT_PRICE"] = "0.12 USD"
    sheet, budget = desk.sheet(f"{name}.csv", simple_sheet(2)), ("--budget", "100")
    plan = desk.call("plan", sheet, *budget, "-o", "plan.html")
    asked = desk.call("run", sheet, *budget, "--without-prefect")
    run = desk.run(sheet, *budget)
    row = desk.call("explain", name, "r001").out
    again = desk.call("retake", name, "r001", "--because", "too dark")
    page = (desk.folder / "plan.html").read_text()
    for told in (plan.out, asked.out, run.err):
        assert "2 videos for 30 credits (3.60 USD)" in told
        assert re.search(r"r002 +15 +1\.80", told)
    assert (page.count(">1.80 USD<"), ">3.60 USD<" in page) == (2, True)
    assert "30 credits (3.60 USD) are not approved" in asked.err
    assert "this run was charged 30 credits (3.60 USD)" in run.err
    assert re.search(r" 30 +3\.60 ", desk.call("status", name).out)
    assert re.search(r"of 100 credits \([\d.]+ of 12\.00 USD\) reserved or charged", run.err)
    for said in ("quote 15 credits (1.80 USD)", "charged 15 credits (1.80 USD)"):
        assert said in row
    assert "1 more video for 15 credits (1.80 USD)" in again.out
    # Programs read credits.
    assert run.json["credits"]["charged"] == 30
