"""`callsheet video`: every operation by hand, its price told or said to be unknown, paid once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.databases import take_ledger
from tests.programs import Desk, Finished, Sandbox, wait_until

#: Every test types requests of its own: the same one is the same video, whoever types it.
TOOL = ("--tool", "product-launch", "--duration", "20")
PRICE = 45
PICTURE, CLIP = "https://example.com/a.png", "https://example.com/a.mp4"


@pytest.fixture
def faulty(service: Sandbox) -> Iterator[Sandbox]:
    """The shared sandbox; what is planned to go wrong is taken back."""
    yield service
    service.clear_faults()


def typed(desk: Desk, verb: str, *words: str) -> Finished:
    return desk.call("video", verb, *words, "--json")


@pytest.fixture
def video(desk: Desk, name: str) -> str:
    """A finished video of the test's own."""
    made = typed(desk, "create", *TOOL, "--title", name, "--yes")
    video_id = str(made.json["video_id"])
    assert typed(desk, "show", video_id, "--wait").status == 0
    return video_id


def test_the_same_command_typed_twice_pays_once(desk: Desk, service: Sandbox, name: str) -> None:
    wanted = (*TOOL, "--field", "product=Aurora kettle", "--title", name, "--yes")
    take_ledger(desk.folder)
    first, same = typed(desk, "create", *wanted), typed(desk, "create", *wanted)
    others = [
        typed(desk, "create", *wanted, *more)
        for more in (("--set", 'language="en"'), ("--another", "2"))
    ]
    shown = typed(desk, "show", first.json["video_id"], "--wait").json
    read = desk.call("video", "show", first.json["video_id"]).out
    assert (first.status, first.json["quoted"]) == (0, PRICE), first.err
    assert f"{PRICE} credits" in first.err
    assert (same.json["video_id"], same.json["key"]) == (first.json["video_id"], first.json["key"])
    assert (shown["charged"], shown["ready"]) == (PRICE, True)
    assert "completed, 45 credits charged so far" in read
    assert "tool: product-launch\n" in read
    assert len({call.json["key"] for call in (first, *others)}) == 3
    assert service.charged([first.json["key"]]) == {first.json["key"]: 1}


def test_without_an_answer_nothing_is_spent_or_deleted(
    desk: Desk, service: Sandbox, video: str
) -> None:
    before = dict(service.calls())
    created = typed(desk, "create", *TOOL, "--title", "never")
    refused = {
        words[0]: desk.call("video", *words)
        for words in (
            ("generate", video),
            ("render", video),
            ("scene", video, "1", "--narration", "New."),
            ("voice", video, "--voice-id", "anna"),
            ("animate", PICTURE),
            ("avatar", CLIP, "--script", "Hi."),
            ("swap", CLIP, "--character", "3"),
            ("delete", video),
        )
    }
    assert f"{PRICE} credits are not approved" in created.json["error"]
    for verb, call in {"create": created, **refused}.items():
        assert (call.status, "--yes" in call.err) == (4, True), verb
    assert all("no quote" in refused[verb].out for verb in ("render", "scene", "animate", "swap"))
    assert f"{PRICE} credits charged so far" in refused["render"].out
    looks = ("estimate", "get", "tools", "characters", "templates")
    assert {name: n for name, n in service.calls().items() if name not in looks} == {
        name: n for name, n in before.items() if name not in looks
    }


def test_a_price_above_the_limit_is_refused(desk: Desk, service: Sandbox, name: str) -> None:
    wanted = (*TOOL, "--title", name, "--yes", "--max-credits")
    before = service.creates()
    refused, allowed = (typed(desk, "create", *wanted, str(most)) for most in (PRICE - 1, PRICE))
    assert (refused.status, allowed.status) == (4, 0)
    assert f"`--max-credits {PRICE}`" in refused.err
    assert service.creates() == before + 1


def test_a_tool_or_a_field_that_the_service_does_not_list_is_not_paid_for(
    desk: Desk, service: Sandbox, name: str
) -> None:
    """It would be paid for and do nothing."""
    wanted = ("create", *TOOL, "--field", "prodct=Aurora kettle", "--title", name, "--yes")
    before = service.creates()
    slip = typed(desk, *wanted)
    tool = typed(desk, "create", "--tool", "product-lunch", "--title", name, "--yes")
    assert (slip.status, tool.status) == (2, 2)
    assert '"prodct" is not a field of product-launch; did you mean product?' in slip.err
    assert "did you mean product-launch?" in tool.err
    assert service.creates() == before
    desk.environ["CALLSHEET_UNLISTED"] = "advise"
    meant = desk.call("video", *wanted)
    assert (meant.status, "did you mean product?" in meant.out) == (0, True), meant.err


def test_a_request_may_come_from_files_and_members(desk: Desk, name: str) -> None:
    (desk.folder / "body.json").write_text(json.dumps({"tool": "explainer", "topic": name}))
    (desk.folder / "script.txt").write_text("Tea is hot.\n\nLet it rest.\n")
    raw = typed(desk, "estimate", "--body", "body.json")
    longer = typed(desk, "estimate", "--body", "body.json", "--set", "duration_seconds=60")
    words = ("--script", "script.txt", "--title", name, "--draft", "--yes", "--aspect-ratio", "1:1")
    script = typed(desk, "create", *words)
    process = desk.start("video", "estimate", "--body", "-", "--json", stdin=subprocess.PIPE)
    piped, _ = process.communicate('{"tool": "explainer"}', timeout=60)
    shown = typed(desk, "show", script.json["video_id"]).json["raw"]
    assert raw.json["credits"] == json.loads(piped)["credits"]
    assert longer.json["credits"] > raw.json["credits"]
    assert (script.json["status"], shown["aspect_ratio"]) == ("draft", "1:1")
    narrations = [one["narration"] for one in shown["script"]["scenes"]]
    assert narrations == ["Tea is hot.", "Let it rest."]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("create --yes", "neither a tool nor a script"),
        ("create --yes --tool x --body /nowhere", "cannot be read"),
        ("create --yes --tool x --set fields={", "begins like JSON"),
        ("create --yes --tool x --field product", "NAME=TEXT"),
        ("create --yes --tool x --another 0", "--another"),
        ("create --yes --tool x --max-credits many", "--max-credits"),
        ("create --yes --tool no-such-tool", "not a tool that the service lists"),
        ("animate a.png --seconds 7 --yes", "5 or 10 seconds"),
        ("swap a.mp4 --character 1 --seconds 2 --yes", "3 to 60 seconds"),
        ("swap a.mp4 --yes", "photos or a character"),
        ("animate a.png --unset image --set picture=a --yes", "picture"),
        ("scene vid_1 0 --yes", "counted from 1"),
        ("avatar a.mp4 --script @/nowhere --yes", "cannot be read"),
        ("show vid_nothere", "404"),
        ("delete vid_nothere --yes", "404"),
        ("generate vid_nothere --yes", "404"),
        ("download vid_nothere", "404"),
        ("captions vid_nothere", "404"),
        ("show ..", "not the id of a video"),
        ("list --limit 0", "--limit"),
        ("edit vid_1", "nothing to change"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    desk: Desk, service: Sandbox, words: str, said: str
) -> None:
    before = [service.calls().get(name, 0) for name in ("create", "generate")]
    ended = desk.call("video", *words.split())
    assert (ended.status, said in ended.err) == (2, True), ended.err
    assert "nothing was spent" in ended.err
    assert before == [service.calls().get(name, 0) for name in ("create", "generate")]


def test_a_video_is_looked_at_and_taken_away(desk: Desk, video: str, name: str) -> None:
    listed = typed(desk, "list", "--limit", "1")
    table = desk.call("video", "list", "--limit", "100")
    renders = typed(desk, "renders", video)
    taken = typed(desk, "download", video, "-o", "video.mp4")
    (desk.folder / "mine.mp4").write_text("mine")
    kept, forced = (
        typed(desk, "download", video, "-o", "mine.mp4", *more) for more in ((), ("--force",))
    )
    printed = desk.call("video", "captions", video)
    written = typed(desk, "captions", video, "--format", "vtt", "-o", "c.vtt")
    (one,) = listed.json["videos"]
    assert {"video_id", "status", "title", "charged"} <= set(one)
    assert video in table.out
    assert name in table.out
    content = (desk.folder / "video.mp4").read_bytes()
    assert (taken.json["bytes"], taken.json["seconds"] > 0) == (len(content), True)
    assert (renders.status, kept.status, forced.status) == (0, 2, 0)
    assert "--force" in kept.err
    assert (desk.folder / "mine.mp4").read_bytes() == content
    assert "-->" in printed.out
    assert (desk.folder / "c.vtt").read_text().startswith("WEBVTT")
    assert written.json["cues"] >= 1
    names = {path.name for path in desk.folder.iterdir()}
    assert names == {"video.mp4", "mine.mp4", "c.vtt", ".callsheet"}
    for call in (listed, table, renders, taken, forced):
        assert "signature=" not in call.out + call.err


def test_a_video_that_is_broken_is_not_written(desk: Desk, faulty: Sandbox, video: str) -> None:
    faulty.plan_fault(on="file", do="no-moov")
    ended = typed(desk, "download", video, "-o", "video.mp4")
    assert (ended.status, bool(ended.json["not_before"])) == (5, True)
    assert {path.name for path in desk.folder.iterdir()} == {".callsheet"}


def test_a_video_that_is_not_there_yet(desk: Desk, faulty: Sandbox, name: str) -> None:
    draft = typed(desk, "create", *TOOL, "--title", name, "--draft", "--yes").json
    video = draft["video_id"]
    not_yet, waited = typed(desk, "download", video), typed(desk, "show", video, "--wait")
    faulty.plan_fault(on="render", do="never")
    started = typed(desk, "generate", video, "--yes")
    early = typed(desk, "download", video)
    parked = typed(desk, "show", video, "--wait", "--max-wait", "1s")
    stopped, twice = typed(desk, "cancel", video), typed(desk, "cancel", video)
    assert (draft["status"], started.json["status"]) == ("draft", "generating")
    assert (not_yet.status, "callsheet video generate" in not_yet.err) == (2, True)
    assert (waited.status, waited.json["ready"]) == (3, False)
    assert (early.status, parked.status) == (5, 5)
    assert (bool(early.json["not_before"]), "--wait" in early.err) == (True, True)
    assert (stopped.status, twice.status) == (0, 2)
    assert "409" in twice.json["error"]
    events = [one["event"] for one in faulty.charges() if one["video_id"] == video]
    assert events == ["reserve", "release"]


def test_a_video_is_changed_and_made_again(desk: Desk, video: str) -> None:
    topic = typed(desk, "edit", video, "--topic", "Tea")
    edited = typed(desk, "edit", video, "--title", "New [b]title[/b]")
    assert edited.json["changed"] == ["title"]
    # Another topic is another video, another title the same one, exported again.
    assert f"until `callsheet video generate {video}`" in topic.err
    assert f"until `callsheet video render {video}`" in edited.err
    for verb, *words in (
        ("scene", "1", "--narration", "New words."),
        ("voice", "--voice-id", "anna"),
        ("render",),
        ("generate",),
    ):
        call = typed(desk, verb, video, *words, "--yes")
        assert call.status == 0, call.err
        assert (call.json["video_id"], call.json["quoted"]) == (video, None)
        if verb == "voice":
            assert typed(desk, "voice", video).json["progress"]
        shown = desk.call("video", "show", video, "--wait")
        assert (shown.status, "New [b]title[/b]" in shown.out) == (0, True)


def test_a_video_is_shared_reported_and_deleted(desk: Desk, video: str) -> None:
    shared = desk.call("video", "share", video).out.strip()
    assert shared.startswith("http")
    assert typed(desk, "share", video).json["url"].startswith("http")
    for done, *words in (
        ("reported", "report", "--reason", "A wrong claim"),
        ("deleted", "delete", "--yes"),
    ):
        told = typed(desk, words[0], video, *words[1:]).json
        assert told == {"video_id": video, done: True, "exit": 0}
    assert desk.call("video", "show", video).status == 2


def test_a_missing_scope_is_named(desk: Desk, service: Sandbox, name: str) -> None:
    keys, wanted = service.ready["keys"], ("create", *TOOL, "--title", name, "--yes")
    desk.environ["CALLSHEET_API_KEY"] = keys["read"]
    reading = typed(desk, *wanted)
    desk.environ["CALLSHEET_API_KEY"] = keys["write"]
    writing, animating = typed(desk, *wanted), typed(desk, "animate", PICTURE, "--yes")
    assert (reading.status, writing.status, animating.status) == (2, 0, 2), writing.err
    assert "`write` scope" in reading.err
    assert "callsheet login --scopes" in reading.err
    assert writing.json["quoted"] is None
    assert "`ai` scope" in animating.err


def test_a_lost_answer_to_a_keyed_create_costs_nothing(
    desk: Desk, faulty: Sandbox, name: str
) -> None:
    wanted = ("create", *TOOL, "--title", name, "--yes")
    faulty.plan_fault(on="create", do="drop-after")
    lost = typed(desk, *wanted)
    faulty.clear_faults()
    found = typed(desk, *wanted)
    assert (lost.status, found.status) == (3, 0)
    assert "may have been processed" in lost.json["error"]
    assert "same key and is paid for once" in lost.err
    typed(desk, "show", found.json["video_id"], "--wait")
    assert faulty.charged([found.json["key"]]) == {found.json["key"]: 1}


def test_a_lost_answer_without_a_key_is_made_good_by_what_the_call_has_done(
    desk: Desk, faulty: Sandbox, video: str, name: str
) -> None:
    bought = len(faulty.bought())
    faulty.plan_fault(on="generate", do="drop-after")
    faulty.plan_fault(on="image-to-video", do="drop-after")
    changed = typed(desk, "generate", video, "--yes")
    made = typed(desk, "animate", f"https://example.com/{name}.png", "--yes")
    assert (changed.status, made.status) == (0, 0)
    assert changed.json["video_id"] == video
    assert made.json["video_id"].startswith("vid_")
    assert "looking for what the call has done" in made.err
    assert len(faulty.bought()) - bought == 2
    assert desk.call("resolve", "--json").json["unsettled"] == []


@pytest.mark.merge
def test_a_lost_answer_without_a_key_is_settled_by_a_person(
    desk: Desk, faulty: Sandbox, video: str
) -> None:
    before = len(faulty.strikes())
    faulty.plan_fault(on="generate", do="drop-before")
    lost = typed(desk, "generate", video, "--yes")
    faulty.clear_faults()
    barred = typed(desk, "generate", video, "--yes")
    assert len(faulty.strikes()) - before == 1
    number = re.search(r"callsheet resolve --call (\d+)", lost.err)
    assert number is not None, lost.err
    settled = desk.call("resolve", "--call", number[1], "--adopt", video)
    typed(desk, "show", video, "--wait")
    again = typed(desk, "generate", video, "--yes")
    assert (lost.status, barred.status, settled.status, again.status) == (3, 4, 0, 0)
    assert "may have been processed and charged" in lost.json["error"]
    for words in ("video show", "video renders"):
        assert f"callsheet {words} {video}" in lost.err
    assert "may pay a second time" in lost.err
    assert "callsheet resolve" in barred.err


@pytest.mark.parametrize(
    ("on", "do", "words"),
    [
        ("create", "no-credits", "add credits"),
        ("create", "unauthorized", "callsheet login"),
        ("generate", "conflict", "already generating"),
    ],
)
def test_a_refusal_spends_nothing(
    desk: Desk, faulty: Sandbox, video: str, name: str, on: str, do: str, words: str
) -> None:
    wanted = (video,) if on == "generate" else (*TOOL, "--title", f"{name} too")
    faulty.plan_fault(on=on, do=do)
    ended = typed(desk, on, *wanted, "--yes")
    faulty.clear_faults()
    assert (ended.status, words in ended.err) == (2, True), ended.err
    assert "nothing was spent" in ended.json["error"]
    assert typed(desk, on, *wanted, "--yes").status == 0, "a refusal leaves nothing to settle"


def test_a_service_in_trouble_or_away_is_asked_later(desk: Desk, faulty: Sandbox) -> None:
    faulty.plan_fault(on="list", do="error-before", status=503)
    ended = typed(desk, "list")
    desk.environ["CALLSHEET_BASE_URL"] = "http://127.0.0.1:9/api/v1"
    away = typed(desk, "list")
    assert (ended.status, away.status) == (5, 5)
    assert ended.json["not_before"]
    assert "could not be reached" in away.json["error"]


def test_a_paid_call_under_way_is_left_only_at_the_second_signal(
    desk: Desk, faulty: Sandbox, video: str
) -> None:
    before = faulty.calls().get("generate", 0)
    faulty.plan_fault(on="generate", do="hang")
    process = desk.start("video", "generate", video, "--yes", "--json")
    wait_until(lambda: faulty.calls().get("generate", 0) > before)
    process.send_signal(signal.SIGINT)
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
    desk: Desk, faulty: Sandbox, name: str
) -> None:
    faulty.plan_fault(on="create", do="limited", retry_after=3600)
    limited = typed(desk, "create", *TOOL, "--title", name, "--yes")
    before = dict(faulty.calls())
    shut = typed(desk, "list")
    assert (limited.status, shut.status) == (5, 5)
    assert limited.json["not_before"] == shut.json["not_before"]
    assert "nothing was spent" in limited.err
    assert faulty.calls() == before
