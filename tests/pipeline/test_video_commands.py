"""`callsheet video`: every operation by hand, its price told or said to be unknown, paid once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.databases import take_ledger
from tests.programs import Desk, Sandbox

#: Every test types requests of its own: the same one is the same video, whoever types it.
TOOL = ("--tool", "product-launch", "--duration", "20")
PRICE = 45


@pytest.fixture
def video(desk: Desk, name: str) -> str:
    """A finished video of the test's own."""
    made = desk.call("video", "create", *TOOL, "--title", name, "--yes", "--json")
    video_id = str(made.json["video_id"])
    assert desk.call("video", "show", video_id, "--wait").status == 0
    return video_id


def test_the_same_command_typed_twice_pays_once(desk: Desk, service: Sandbox, name: str) -> None:
    wanted = ("video", "create", *TOOL, "--field", "product=Aurora kettle", "--title", name)
    take_ledger(desk.folder)

    first = desk.call(*wanted, "--yes", "--json")
    same = desk.call(*wanted, "--yes", "--json")
    varied = desk.call(*wanted, "--yes", "--json", "--set", 'language="en"')
    shown = desk.call("video", "show", first.json["video_id"], "--wait", "--json")
    other = desk.call(*wanted, "--yes", "--json", "--another", "2")

    assert first.status == 0, first.err
    assert first.json["quoted"] == PRICE
    assert f"{PRICE} credits" in first.err
    assert "made" in first.err
    assert same.json["video_id"] == first.json["video_id"]
    assert same.json["key"] == first.json["key"]
    assert shown.json["charged"] == PRICE
    assert shown.json["ready"] is True
    assert len({call.json["key"] for call in (first, varied, other)}) == 3
    assert service.charged([first.json["key"]]) == {first.json["key"]: 1}


def test_without_an_answer_nothing_is_spent_or_deleted(
    desk: Desk, service: Sandbox, video: str
) -> None:
    before = dict(service.calls())
    refused = {
        "create": desk.call("video", "create", *TOOL, "--title", "never", "--json"),
        "generate": desk.call("video", "generate", video, "--json"),
        "render": desk.call("video", "render", video),
        "scene": desk.call("video", "scene", video, "1", "--narration", "New."),
        "voice": desk.call("video", "voice", video, "--voice-id", "anna"),
        "animate": desk.call("video", "animate", "https://example.com/a.png"),
        "avatar": desk.call("video", "avatar", "https://example.com/a.mp4", "--script", "Hi."),
        "swap": desk.call("video", "swap", "https://example.com/a.mp4", "--character", "3"),
        "delete": desk.call("video", "delete", video),
    }

    assert {call.status for call in refused.values()} == {4}
    assert all("--yes" in call.err for call in refused.values())
    assert f"{PRICE} credits are not approved" in refused["create"].json["error"]
    assert all("no quote" in refused[verb].out for verb in ("render", "scene", "animate", "swap"))
    assert f"{PRICE} credits charged so far" in refused["render"].out
    after = service.calls()
    looks = ("estimate", "get", "tools", "characters", "templates")
    assert {name: n for name, n in after.items() if name not in looks} == {
        name: n for name, n in before.items() if name not in looks
    }


def test_a_price_above_the_limit_is_refused(desk: Desk, service: Sandbox, name: str) -> None:
    wanted = ("video", "create", *TOOL, "--title", name, "--yes")
    before = service.calls().get("create", 0)

    refused = desk.call(*wanted, "--max-credits", str(PRICE - 1))
    allowed = desk.call(*wanted, "--max-credits", str(PRICE))

    assert refused.status == 4
    assert f"`--max-credits {PRICE}`" in refused.err
    assert allowed.status == 0
    assert service.calls()["create"] == before + 1


def test_a_tool_or_a_field_that_the_service_does_not_list_is_not_paid_for(
    desk: Desk, service: Sandbox, name: str
) -> None:
    """It would be paid for and do nothing."""
    field = ("--field", "prodct=Aurora kettle")
    before = service.calls().get("create", 0)

    slip = desk.call("video", "create", *TOOL, *field, "--title", name, "--yes", "--json")
    tool = desk.call("video", "create", "--tool", "product-lunch", "--title", name, "--yes")
    assert (slip.status, tool.status) == (2, 2)
    assert '"prodct" is not a field of product-launch; did you mean product?' in slip.err
    assert "did you mean product-launch?" in tool.err
    assert service.calls().get("create", 0) == before

    desk.environ["CALLSHEET_UNLISTED"] = "advise"
    meant = desk.call("video", "create", *TOOL, *field, "--title", name, "--yes")
    assert meant.status == 0, meant.err
    assert "did you mean product?" in meant.out


def test_a_request_may_come_from_files_and_members(desk: Desk, name: str) -> None:
    (desk.folder / "body.json").write_text(json.dumps({"tool": "explainer", "topic": name}))
    (desk.folder / "script.txt").write_text("Tea is hot.\n\nLet it rest.\n")

    raw = desk.call("video", "estimate", "--body", "body.json", "--json")
    longer = desk.call(
        "video", "estimate", "--body", "body.json", "--set", "duration_seconds=60", "--json"
    )
    script = desk.call(
        *("video", "create", "--script", "script.txt", "--title", name),
        *("--draft", "--yes", "--json", "--aspect-ratio", "1:1"),
    )
    process = desk.start("video", "estimate", "--body", "-", "--json", stdin=subprocess.PIPE)
    piped, _ = process.communicate('{"tool": "explainer"}', timeout=60)
    shown = desk.call("video", "show", script.json["video_id"], "--json")

    assert raw.json["credits"] == json.loads(piped)["credits"]
    assert longer.json["credits"] > raw.json["credits"]
    assert script.json["status"] == "draft"
    assert shown.json["raw"]["aspect_ratio"] == "1:1"
    assert [one["narration"] for one in shown.json["raw"]["script"]["scenes"]] == [
        "Tea is hot.",
        "Let it rest.",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "--yes"), "neither a tool nor a script"),
        (("create", "--yes", "--tool", "x", "--body", "/nowhere"), "cannot be read"),
        (("create", "--yes", "--tool", "x", "--set", "fields={"), "begins like JSON"),
        (("create", "--yes", "--tool", "x", "--field", "product"), "NAME=TEXT"),
        (("create", "--yes", "--tool", "x", "--another", "0"), "--another"),
        (("create", "--yes", "--tool", "x", "--max-credits", "many"), "--max-credits"),
        (("create", "--yes", "--tool", "no-such-tool"), "not a tool that the service lists"),
        (("animate", "a.png", "--seconds", "7", "--yes"), "5 or 10 seconds"),
        (("swap", "a.mp4", "--character", "1", "--seconds", "2", "--yes"), "3 to 60 seconds"),
        (("swap", "a.mp4", "--yes"), "photos or a character"),
        (("animate", "a.png", "--unset", "image", "--set", "picture=a", "--yes"), "picture"),
        (("scene", "vid_1", "0", "--yes"), "counted from 1"),
        (("avatar", "a.mp4", "--script", "@/nowhere", "--yes"), "cannot be read"),
        (("show", "vid_nothere"), "404"),
        (("delete", "vid_nothere", "--yes"), "404"),
        (("generate", "vid_nothere", "--yes"), "404"),
        (("download", "vid_nothere"), "404"),
        (("captions", "vid_nothere"), "404"),
        (("renders", "vid_nothere"), "404"),
        (("show", "..", "--json"), "not the id of a video"),
        (("list", "--limit", "0"), "--limit"),
        (("edit", "vid_1"), "nothing to change"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    desk: Desk, service: Sandbox, words: tuple[str, ...], said: str
) -> None:
    before = [service.calls().get(name, 0) for name in ("create", "generate")]

    ended = desk.call("video", *words)

    assert ended.status == 2
    assert said in ended.err
    assert "nothing was spent" in ended.err
    assert before == [service.calls().get(name, 0) for name in ("create", "generate")]


def test_a_video_is_looked_at_and_taken_away(desk: Desk, video: str, name: str) -> None:
    listed = desk.call("video", "list", "--limit", "1", "--json")
    table = desk.call("video", "list", "--limit", "100")
    renders = desk.call("video", "renders", video, "--json")
    taken = desk.call("video", "download", video, "-o", "video.mp4", "--json")
    (desk.folder / "mine.mp4").write_text("mine")
    kept = desk.call("video", "download", video, "-o", "mine.mp4")
    forced = desk.call("video", "download", video, "-o", "mine.mp4", "--force")
    printed = desk.call("video", "captions", video)
    written = desk.call("video", "captions", video, "--format", "vtt", "-o", "c.vtt", "--json")

    assert len(listed.json["videos"]) == 1
    assert {"video_id", "status", "title", "charged"} <= set(listed.json["videos"][0])
    assert video in table.out
    assert name in table.out
    assert renders.status == 0
    video_bytes = (desk.folder / "video.mp4").read_bytes()
    assert taken.json["bytes"] == len(video_bytes)
    assert taken.json["seconds"] > 0
    assert kept.status == 2
    assert "--force" in kept.err
    assert forced.status == 0
    assert (desk.folder / "mine.mp4").read_bytes() == video_bytes
    assert "-->" in printed.out
    assert (desk.folder / "c.vtt").read_text().startswith("WEBVTT")
    assert written.json["cues"] >= 1
    names = {path.name for path in desk.folder.iterdir()}
    assert names == {"video.mp4", "mine.mp4", "c.vtt", ".callsheet"}
    for call in (listed, table, renders, taken, forced):
        assert "signature=" not in call.out + call.err


def test_a_video_that_is_broken_is_not_written(desk: Desk, service: Sandbox, video: str) -> None:
    with planned(service, on="file", do="no-moov"):
        ended = desk.call("video", "download", video, "-o", "video.mp4", "--json")

    assert ended.status == 5
    assert ended.json["not_before"]
    assert {path.name for path in desk.folder.iterdir()} == {".callsheet"}


def test_a_video_that_is_not_there_yet(desk: Desk, service: Sandbox, name: str) -> None:
    draft = desk.call("video", "create", *TOOL, "--title", name, "--draft", "--yes", "--json")
    video_id = draft.json["video_id"]
    not_yet = desk.call("video", "download", video_id)
    waited = desk.call("video", "show", video_id, "--wait", "--json")
    with planned(service, on="render", do="never"):
        started = desk.call("video", "generate", video_id, "--yes", "--json")
        early = desk.call("video", "download", video_id, "--json")
        parked = desk.call("video", "show", video_id, "--wait", "--max-wait", "1s", "--json")
        stopped = desk.call("video", "cancel", video_id, "--json")
        twice = desk.call("video", "cancel", video_id, "--json")

    assert draft.json["status"] == "draft"
    assert not_yet.status == 2
    assert "callsheet video generate" in not_yet.err
    assert (waited.status, waited.json["ready"]) == (3, False)
    assert started.json["status"] == "generating"
    assert (early.status, parked.status) == (5, 5)
    assert early.json["not_before"]
    assert "--wait" in early.err
    assert (stopped.status, twice.status) == (0, 2)
    assert "409" in twice.json["error"]
    assert [one["event"] for one in service.charges() if one["video_id"] == video_id] == [
        "reserve",
        "release",
    ]


def test_a_video_is_changed_and_made_again(desk: Desk, video: str) -> None:
    edited = desk.call("video", "edit", video, "--title", "New [b]title[/b]", "--json")
    scene = desk.call("video", "scene", video, "1", "--narration", "New words.", "--yes", "--json")
    wait = ("video", "show", video, "--wait")
    assert desk.call(*wait).status == 0
    voice = desk.call("video", "voice", video, "--voice-id", "anna", "--yes", "--json")
    progress = desk.call("video", "voice", video, "--json")
    assert desk.call(*wait).status == 0
    render = desk.call("video", "render", video, "--yes", "--json")
    assert desk.call(*wait).status == 0
    again = desk.call("video", "generate", video, "--yes", "--json")
    shown = desk.call(*wait)

    assert edited.json["changed"] == ["title"]
    assert "New [b]title[/b]" in shown.out
    for call in (scene, voice, render, again):
        assert call.status == 0, call.err
        assert call.json["video_id"] == video
        assert call.json["quoted"] is None
    assert progress.json["progress"]


def test_clips_are_made(desk: Desk, service: Sandbox, name: str) -> None:
    (desk.folder / "words.txt").write_text("Hello from a file.")
    clip = "https://example.com/me.mp4"

    made = [
        desk.call("video", *words, "--title", name, "--yes", "--json")
        for words in (
            ("animate", "https://example.com/a.png", "--seconds", "5", "--narration", "Hi."),
            ("avatar", clip, "--script", "@words.txt"),
            ("swap", clip, "--photo", "https://example.com/b.png", "--seconds", "3"),
        )
    ]

    assert [call.status for call in made] == [0, 0, 0], [call.err for call in made]
    operations = ["image-to-video", "talking-avatar", "character-swap"]
    assert [call.json["operation"] for call in made] == operations
    for call in made:
        shown = desk.call("video", "show", call.json["video_id"], "--wait", "--json")
        assert shown.json["title"] == name
        assert shown.json["ready"] is True


def test_a_video_is_shared_reported_and_deleted(desk: Desk, video: str) -> None:
    shared = desk.call("video", "share", video)
    document = desk.call("video", "share", video, "--json")
    reported = desk.call("video", "report", video, "--reason", "A wrong claim", "--json")
    deleted = desk.call("video", "delete", video, "--yes", "--json")
    gone = desk.call("video", "show", video)

    assert shared.out.strip().startswith("http")
    assert document.json["url"].startswith("http")
    assert reported.json == {"video_id": video, "reported": True, "exit": 0}
    assert deleted.json == {"video_id": video, "deleted": True, "exit": 0}
    assert gone.status == 2


def test_what_there_is_to_choose_from(desk: Desk) -> None:
    templates = desk.call("video", "templates", "--json")
    tools = desk.call("video", "tools", "--json")

    assert templates.json["templates"]
    assert "product-launch" in {tool["id"] for tool in tools.json["tools"]}


def test_a_missing_scope_is_named(desk: Desk, service: Sandbox, name: str) -> None:
    keys = service.ready["keys"]
    desk.environ["CALLSHEET_API_KEY"] = keys["read"]
    reading = desk.call("video", "create", *TOOL, "--title", name, "--yes", "--json")
    desk.environ["CALLSHEET_API_KEY"] = keys["write"]
    writing = desk.call("video", "create", *TOOL, "--title", name, "--yes", "--json")
    animating = desk.call("video", "animate", "https://example.com/a.png", "--yes")

    assert reading.status == 2
    assert "`write` scope" in reading.err
    assert "callsheet login --scopes" in reading.err
    assert writing.status == 0, writing.err
    assert writing.json["quoted"] is None
    assert animating.status == 2
    assert "`ai` scope" in animating.err


def test_a_lost_answer_to_a_keyed_create_costs_nothing(
    desk: Desk, service: Sandbox, name: str
) -> None:
    wanted = ("video", "create", *TOOL, "--title", name, "--yes", "--json")
    with planned(service, on="create", do="drop-after"):
        lost = desk.call(*wanted)
    found = desk.call(*wanted)

    assert lost.status == 3
    assert "may have been processed" in lost.json["error"]
    assert "same key and is paid for once" in lost.err
    assert found.status == 0
    desk.call("video", "show", found.json["video_id"], "--wait")
    assert service.charged([found.json["key"]]) == {found.json["key"]: 1}


def test_a_lost_answer_without_a_key_is_made_good_by_what_the_call_has_done(
    desk: Desk, service: Sandbox, video: str, name: str
) -> None:
    animate = ("video", "animate", f"https://example.com/{name}.png", "--yes", "--json")
    bought = len(service.bought())
    with planned(service, on="generate", do="drop-after"):
        changed = desk.call("video", "generate", video, "--yes", "--json")
    with planned(service, on="image-to-video", do="drop-after"):
        made = desk.call(*animate)

    assert (changed.status, made.status) == (0, 0)
    assert changed.json["video_id"] == video
    assert made.json["video_id"].startswith("vid_")
    assert "looking for what the call has done" in made.err
    assert len(service.bought()) - bought == 2
    assert desk.call("resolve", "--json").json["unsettled"] == []


@pytest.mark.merge
def test_a_lost_answer_without_a_key_is_settled_by_a_person(
    desk: Desk, service: Sandbox, video: str
) -> None:
    generate = ("video", "generate", video, "--yes", "--json")
    before = len(service.strikes())
    with planned(service, on="generate", do="drop-before"):
        lost = desk.call(*generate)
    barred = desk.call(*generate)
    sent = len(service.strikes()) - before
    number = re.search(r"callsheet resolve --call (\d+)", lost.err)
    assert number is not None, lost.err
    settled = desk.call("resolve", "--call", number[1], "--adopt", video)
    desk.call("video", "show", video, "--wait")
    again = desk.call(*generate)

    assert lost.status == 3
    assert "may have been processed and charged" in lost.json["error"]
    assert f"callsheet video show {video}" in lost.err
    assert f"callsheet video renders {video}" in lost.err
    assert "may pay a second time" in lost.err
    assert barred.status == 4
    assert "callsheet resolve" in barred.err
    assert sent == 1
    assert (settled.status, again.status) == (0, 0)


@pytest.mark.parametrize(
    ("on", "do", "words"),
    [
        ("create", "no-credits", "add credits"),
        ("create", "unauthorized", "callsheet login"),
        ("generate", "conflict", "already generating"),
    ],
)
def test_a_refusal_spends_nothing(
    desk: Desk, service: Sandbox, video: str, name: str, on: str, do: str, words: str
) -> None:
    wanted = (video,) if on == "generate" else (*TOOL, "--title", f"{name} too")
    with planned(service, on=on, do=do):
        ended = desk.call("video", on, *wanted, "--yes", "--json")
    again = desk.call("video", on, *wanted, "--yes", "--json")

    assert ended.status == 2
    assert words in ended.err
    assert "nothing was spent" in ended.json["error"]
    assert again.status == 0, "a refusal leaves nothing to settle"


def test_a_service_in_trouble_is_asked_later(desk: Desk, service: Sandbox) -> None:
    with planned(service, on="list", do="error-before", status=503):
        ended = desk.call("video", "list", "--json")

    assert ended.status == 5
    assert ended.json["not_before"]


def test_a_paid_call_under_way_is_left_only_at_the_second_signal(
    desk: Desk, service: Sandbox, video: str
) -> None:
    before = service.calls().get("generate", 0)
    with planned(service, on="generate", do="hang"):
        process = desk.start("video", "generate", video, "--yes", "--json")
        until = time.monotonic() + 60
        while service.calls().get("generate", 0) == before:
            assert time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = ""
        while "Ctrl-C again to leave it" not in said:
            said = process.stderr.readline()
            assert said
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 3
    assert "may have been processed" in json.loads(out)["error"]
    assert "Traceback" not in err


def test_a_moment_named_by_the_service_holds_for_the_next_command(
    desk: Desk, service: Sandbox, name: str
) -> None:
    wanted = ("video", "create", *TOOL, "--title", name, "--yes", "--json")
    with planned(service, on="create", do="limited", retry_after=3600):
        limited = desk.call(*wanted)
    before = dict(service.calls())
    shut = desk.call("video", "list", "--json")

    assert (limited.status, shut.status) == (5, 5)
    assert limited.json["not_before"] == shut.json["not_before"]
    assert "nothing was spent" in limited.err
    assert service.calls() == before


def test_a_service_that_is_not_there_is_told(desk: Desk) -> None:
    desk.environ["CALLSHEET_BASE_URL"] = "http://127.0.0.1:9/api/v1"

    ended = desk.call("video", "list", "--json")

    assert ended.status == 5
    assert "could not be reached" in ended.json["error"]


@contextmanager
def planned(service: Sandbox, **fault: Any) -> Iterator[None]:
    """Have something go wrong for as long as a test wants it."""
    service.plan_fault(**fault)
    try:
        yield
    finally:
        service.clear_faults()
