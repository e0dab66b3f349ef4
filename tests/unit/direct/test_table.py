"""The commands of the service's operations, as the table has them: no entry needs more code."""

from __future__ import annotations

import argparse
import json
import shlex
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from rich.console import Console

from callsheet.deployments.arguments.direct_commands import add_operation
from callsheet.deployments.direct.body import body_from
from callsheet.deployments.direct.perform import perform
from callsheet.deployments.direct.session import Session
from callsheet.deployments.parser import parse
from callsheet.tasks.runtime.errors import BadInput, SpendRefused
from callsheet.tasks.service import OPERATIONS, Money, VideoService, answers
from callsheet.tasks.service.operations import Field, Operation
from tests.lent import lent

CLIP = "https://f.test/a.mp4"
WITH_COMMAND = [operation for operation in OPERATIONS if operation.words]


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("video create --field a=1 --field b=x=y", {"fields": {"a": "1", "b": "x=y"}}),
        ("video create --duration 20 --character 0", {"duration_seconds": 20, "character_id": 0}),
        ("video create --title T --mode new", {"title": "T", "mode": "new"}),
        ("video estimate --set tool=t --set n=3 --unset n", {"tool": "t"}),
        ("video edit v --title T --topic ''", {"title": "T", "topic": ""}),
        ("video edit v --set title=null", {"title": None}),
        ("video share v --set days=3", {"days": 3}),
        ("video report v --reason Odd", {"reason": "Odd"}),
        ("video render v", {}),
        ("video scene v 2 --narration @@home", {"narration": "@home"}),
        ("video voice v --voice-id anna", {"voice_id": "anna"}),
        ("video voice v", {}),
        (f"video animate {CLIP} --seconds 5", {"image": CLIP, "duration_seconds": 5}),
        (f"video avatar {CLIP} --script Hi.", {"clip": CLIP, "script": "Hi."}),
        (f"video swap {CLIP} --photo p --photo q", {"clip": CLIP, "photos": ["p", "q"]}),
        (f"video swap {CLIP} --character 0", {"clip": CLIP, "character_id": 0}),
        (
            "video avatar a --script @@b --aspect-ratio 4:3",
            {"clip": "a", "script": "@b", "aspect_ratio": "4:3"},
        ),
        ("webhooks create URL --name N", {"url": "URL", "name": "N"}),
        ("webhooks edit w --event a --event b", {"events": ["a", "b"]}),
        ("webhooks edit w --enable", {"is_active": True}),
        ("webhooks edit w --disable", {"is_active": False}),
        ("webhooks test w", {}),
    ],
)
def test_what_is_typed_becomes_the_body(words: str, body: object) -> None:
    args = parse(shlex.split(words))

    assert body_from(args, args.operation) == body


def test_a_file_comes_before_the_options_and_they_before_set(tmp_path: Any) -> None:
    file = tmp_path / "body.json"
    file.write_text(json.dumps({"title": "file", "topic": "file", "mode": None}))
    words = ["video", "edit", "v", "--body", str(file), "--topic", "typed"]
    args = parse([*words, "--set", "topic=set", "--title", "typed"])

    assert body_from(args, args.operation) == {"title": "typed", "topic": "set", "mode": None}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["video", "scene", "v", "1", "--narration", '{"a": 1}'], "--narration is not text"),
        (["video", "scene", "v", "1", "--narration", " "], "--narration is empty"),
        (["video", "edit", "v"], "nothing to change"),
        (["video", "edit", "v", "--set", "title"], "NAME=JSON"),
        (["webhooks", "edit", "w", "--name", "\udcff"], "not UTF-8"),
    ],
)
def test_what_cannot_be_sent_is_told(words: list[str], said: str) -> None:
    args = parse(words)
    with pytest.raises(BadInput, match=said):
        body_from(args, args.operation)


def test_a_script_has_to_be_typed_for_an_avatar() -> None:
    with pytest.raises(BadInput, match="--script"):
        parse(["video", "avatar", CLIP])


@pytest.mark.safeguard(
    "tasks/service/operations.py",
    "self.money in (Money.KEYED, Money.ONCE)",
    "self.money is Money.KEYED",
)
@pytest.mark.parametrize("operation", WITH_COMMAND, ids=lambda operation: operation.name)
def test_a_command_takes_every_field_and_asks_before_it_pays(operation: Operation[Any]) -> None:
    verbs = argparse.ArgumentParser().add_subparsers()
    options = add_operation(verbs, operation)._option_string_actions
    for field in operation.fields() if operation.fields else ():
        if field.option.startswith("-"):
            assert all(options[name].dest == field.name for name in field.option.split("/"))
            assert options[field.option.split("/")[0]].help
    paid = operation.about == "video" and operation.money in (Money.KEYED, Money.ONCE)
    assert ("--yes" in options) == (paid or bool(operation.asks))
    assert ("--set" in options) == (operation.fields is not None)


def test_no_two_operations_have_the_same_command() -> None:
    commands = [(operation.about, operation.command) for operation in WITH_COMMAND]
    assert len({*commands}) == len(commands)


ARCHIVE = Operation(
    "archive", "PUT", "/videos/{id}/archive", "write", Money.GENTLE, answers.opaque,
    "archive a video", lambda: (Field("reason", "why", required=True),),
    asks="Archive {id}?", says="{id}: archived", answer="archived",
)  # fmt: skip


async def test_one_entry_is_a_whole_command(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_operation(parser.add_subparsers(), ARCHIVE)
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        said = {"id": "vid_1", "token": "mav_secret"}
        return httpx.Response(200, json={"data": said, "error": None, "meta": {}})

    async def run(*words: str) -> Any:
        args = parser.parse_args(["archive", "vid_1", "--reason", "Old", *words])
        async with VideoService(
            base_url="http://s.test/api/v1",
            api_key="mav_a",
            connections=lent(httpx.MockTransport(answer)),
        ) as service:
            at = Session(
                args=args, console=Console(), settings=None, service=service,  # type: ignore[arg-type]
                ledger=None, until_told=AsyncExitStack(),
            )  # fmt: skip
            return await perform(at, ARCHIVE)

    with pytest.raises(SpendRefused, match="to archive vid_1 is not approved"):
        await run()
    assert [request.method for request in seen] == ["GET"], "what it is about is shown before"

    document = await run("--yes")

    assert document == {"video_id": "vid_1", "archived": {"id": "vid_1", "token": "***"}}
    assert (seen[-1].method, seen[-1].url.path) == ("PUT", "/api/v1/videos/vid_1/archive")
    assert json.loads(seen[-1].content) == {"reason": "Old"}
    told = capsys.readouterr().out
    assert "vid_1: archived" in told
    assert "mav_secret" not in told
