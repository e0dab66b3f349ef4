"""What is said to come next is what comes next, and every state has something to type."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from callsheet.deployments.cli import execute
from callsheet.deployments.parser import build_parser
from callsheet.tasks.aftercare.explain import (
    LANES,
    commands_for,
    explain,
    explanation_document,
    next_run,
)
from callsheet.tasks.engine.policy.decision import Lane, Rules
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.values import STATES, State
from callsheet.tasks.ledger.webhook_events import Hint, keep_hint
from tests.campaigns import NOW, Stage, brief


@pytest.mark.parametrize(
    ("state", "action", "rests", "lane"),
    [
        ("planned", "make", "planned", "submit"),
        ("submitting", "fetch", "submitting", "submit"),
        ("rendering", "fetch", "rendering", "poll"),
        ("stalled", "fetch", "rendering", "poll"),
        ("delivered", "none", "delivered", None),
        ("uncertain", "person", "uncertain", None),
        ("failed", "person", "failed", None),
        ("retired", "none", "retired", None),
    ],
)
async def test_the_next_run_is_told_as_the_plan_would_tell_it(
    stage: Stage, state: State, action: str, rests: str, lane: str | None
) -> None:
    comes = next_run(await stage.in_state(state), now=NOW, rules=Rules())
    assert (comes.action, comes.rests, comes.lane) == (action, rests, lane)
    assert (await stage.row()).state == state


def test_every_lane_has_words() -> None:
    assert set(LANES) == set(get_args(Lane))


async def test_every_command_line_that_is_told_can_be_typed(ledger: Ledger) -> None:
    parser = build_parser()
    for state in STATES:
        stage = await Stage.set(ledger, brief(), name=f"c-{state}")
        commands = commands_for(stage.campaign, await stage.in_state(state))
        assert commands
        for command in commands:
            program, *words = command.line.split()
            assert program == "callsheet"
            parser.parse_args(words)


async def test_attempts_are_told_with_what_was_asked_said_and_paid(
    ledger: Ledger, stage: Stage
) -> None:
    await stage.delivered()
    await stage.sync(brief(topic="Coffee"))
    await stage.rendering()
    for n in range(2):
        hint = Hint(digest=f"{n}" * 64, nonce="n", videos=frozenset({"vid_a"}))
        await stage.write(keep_hint, hint, at=60.0 + n)
    explaining = partial(explain, campaign=stage.campaign, row="a", now=NOW, rules=Rules())
    found = await ledger.read(explaining)
    assert found is not None
    document = explanation_document(found)
    first, second = document["takes"]
    assert (first["differs_in"], first["present"], first["charged"]) == (["topic"], False, 12)
    assert (second["differs_in"], second["present"], second["reserved"]) == ([], True, 12)
    assert [quote["words"] for quote in document["quotes"]] == ["12 credits", "12 credits"]
    assert first["key"] != second["key"]
    assert second["hinted_at"] == "1970-01-01T00:01:00Z"
    assert [answer["new"] for answer in second["answers"] if answer["new"]] == [
        "submitting", "rendering",
    ]  # fmt: skip


def test_it_begins_with_what_can_be_done_and_ends_with_keys_and_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    monkeypatch.setenv("CALLSHEET_LEDGER", url)

    async def failed() -> str:
        async with await open_ledger(url) as ledger:
            stage = await Stage.set(ledger, brief())
            row = await stage.failed()
            return row.take.key

    key = asyncio.run(failed())
    assert execute(["explain", "spring", "a"]) == 0
    said = capsys.readouterr().out
    heads = [line for line in said.splitlines() if line and not line.startswith(" ")]
    assert [head.split(",")[0].split(" (")[0] for head in heads] == [
        "a of spring: failed", "what you can do", "why", "what it asks for", "take 1", "history",
        "details",
    ]  # fmt: skip
    assert "callsheet retake spring a --run" in said.partition("\nwhy")[0]
    assert key not in said
    assert f"{key[:12]}…" in said.partition("\ndetails")[2]
    assert execute(["explain", "spring", "a", "-v"]) == 0
    assert key in capsys.readouterr().out
