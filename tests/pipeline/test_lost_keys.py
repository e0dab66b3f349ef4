"""Ledger and store are lost, and today's key is not the key that was paid: a person decides.

A request is safe to send again only under the key that was sent. A row that was edited, renamed
twice, or made into a variant of a matrix has another key than the video that was paid for it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.programs import Desk, Finished, Sandbox

KEYS = "videos.*.idempotency_key"
MOMENTS = "videos.*.created_at"
AXIS = {"axes": {"language": ["en"]}}


class Place:
    """A folder with one sheet, whose ledger and store get lost."""

    def __init__(self, desk: Desk, sandbox: Sandbox, name: str) -> None:
        self.desk = Desk(desk.folder, sandbox.environ)
        self.sandbox, self.name = sandbox, name
        self.sheet = f"{name}.json"

    def write(self, *rows: dict[str, Any], **head: Any) -> None:
        """Write a sheet; its rows have the same long script."""
        script = {"scenes": ["One two three.", "Four five six."]}
        base = {"title": "Spring", "duration_seconds": 10, "voice_id": "anna", "script": script}
        said = {"campaign": self.name, **head, "rows": [{**base, **row} for row in rows]}
        (self.desk.folder / self.sheet).write_text(json.dumps(said))

    def run(self, *words: str) -> Finished:
        words = ("run", self.sheet, "--yes", "--json", "--without-prefect", *words)
        return self.desk.call(*words)

    def make(self, *rows: dict[str, Any], **head: Any) -> None:
        """Write a sheet and make its videos."""
        self.write(*rows, **head)
        assert self.run().status == 0

    def lose(self, *names: str) -> None:
        for name in names:
            shutil.rmtree(self.desk.folder / name, ignore_errors=True)

    def bought(self) -> int:
        return len(self.sandbox.bought())


@pytest.fixture
def stage(desk: Desk, studio: Sandbox, name: str) -> Iterator[Place]:
    yield Place(desk, studio, name)
    studio.clear_faults()


def edit_title(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.make({"id": "a", "title": "Summer"})


def edit_voice(stage: Place) -> None:
    stage.make({"id": "a"})
    # The service shows the voice that the video was made with.
    stage.make({"id": "a", "voice_id": "ben"})


def edit_scene(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.make({"id": "a", "script": {"scenes": ["One two three.", "Seven eight."]}})


def change_title_unmade(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.write({"id": "a", "title": "Summer"})


def make_a_variant(stage: Place) -> None:
    stage.make({"id": "a", "language": "en"})
    stage.write({"id": "a"}, matrix=AXIS)


def rename_twice(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.make({"id": "b", "was": "a"})
    stage.write({"id": "c", "was": "b"})


@pytest.mark.merge
@pytest.mark.parametrize(
    "change",
    [edit_title, edit_voice, edit_scene, change_title_unmade, make_a_variant, rename_twice],
)
def test_a_video_under_another_key_that_may_be_the_rows_asks_a_person(
    stage: Place, change: Callable[[Place], None]
) -> None:
    change(stage)
    before = stage.bought()

    for hidden in ([KEYS, MOMENTS], [KEYS], []):
        stage.lose(".callsheet", "deliveries")
        stage.sandbox.clear_faults()
        if hidden:
            stage.sandbox.plan_fault(on="list", do="rewrite", remove=hidden)
        asked = [stage.run() for _ in range(2)]
        assert [one.status for one in asked] == [4, 4], (hidden, asked[0].err)
        assert "may pay a second time" in asked[1].err
        assert "the service lists vid_" in asked[1].err

    assert stage.bought() == before
    # What was seen once holds, whatever can be looked up later.
    stage.sandbox.plan_fault(on="list", do="forbidden")
    assert stage.run().status == 4
    # Only a person lets it be paid for again.
    assert stage.run("--pay-again").status == 0
    assert stage.bought() == before + 1


@pytest.mark.merge
def test_a_video_that_shows_neither_of_its_edits_asks_a_person(stage: Place) -> None:
    """No one edit leads from what the service shows to what the row asks for."""
    stage.make({"id": "a", "caption_style": "bold"})
    stage.make({"id": "a", "caption_style": "bold", "voice_id": "ben"})
    stage.make({"id": "a", "caption_style": "thin", "voice_id": "ben"})
    before = stage.bought()
    stage.lose(".callsheet", "deliveries")
    shown = {**stage.sandbox.list_videos()[0], "caption_style": "bold", "voice_id": "anna"}
    stage.sandbox.plan_fault(on="list", do="rewrite", set={"videos": [shown]})

    asked = [stage.run() for _ in range(2)]

    assert [one.status for one in asked] == [4, 4], asked[0].err
    assert "the service lists vid_" in asked[1].err
    assert stage.bought() == before


@pytest.mark.merge
def test_nobody_is_asked_where_nothing_suggests_it(stage: Place) -> None:
    """Videos of other rows, of other programs, and of other texts are no row's."""
    one, two = {"id": "a"}, {"id": "b", "title": "Autumn"}
    other = {"id": "c", "script": {"scenes": ["Nine ten.", "Eleven."]}}
    stage.make(one)
    before = stage.bought()
    script = {"scenes": ["Ten and ten.", "Are twenty."]}
    by_hand = {"duration_seconds": 10, "script": script, "title": "Winter"}
    for key in ({}, {"idempotency_key": "another-program"}):
        stage.sandbox.post("videos", {**by_hand, **key, "start_generation": True})
    stage.lose(".callsheet", "deliveries")

    # Its own key finds the first; of the second the same script is no evidence: it is the first's.
    stage.write(one, two, other, {"id": "d", **by_hand})
    ended = stage.run()

    assert ended.status == 0, ended.err
    assert ended.json["rows"] == {"total": 4, "delivered": 4}
    assert stage.bought() - before == 2 + 3


@pytest.mark.merge
def test_a_person_who_says_new_campaign_is_not_asked_again(stage: Place) -> None:
    stage.make({"id": "a"})
    stage.lose(".callsheet", "deliveries")
    stage.name += "-again"
    stage.write({"id": "a"})

    ended = stage.run("--new-campaign")

    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err


@pytest.mark.merge
def test_a_key_that_was_sent_is_safe_while_it_is_known(stage: Place) -> None:
    stage.make({"id": "a"})
    before = stage.bought()
    manifest = stage.desk.folder / "deliveries" / stage.name / "manifest.json"
    # What a run leaves that is killed before the answer to its create.
    manifest.write_text(manifest.read_text().replace('"video_id":"', '"was":"'))
    stage.lose(".callsheet")
    stage.sandbox.plan_fault(on="list", do="rewrite", remove=[KEYS])

    ended = stage.run()

    assert (ended.status, ended.json["rows"]) == (0, {"total": 1, "delivered": 1}), ended.err
    assert stage.bought() == before
