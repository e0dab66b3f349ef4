"""A kind of store that is not ours: one entry of the table, and videos go there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from callsheet.flows.executor import run_sheet
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.ledger.deliveries import videos_of
from callsheet.tasks.ledger.ledger import open_ledger
from callsheet.tasks.runtime.errors import ConfigurationError
from callsheet.tasks.runtime.settings import load_settings
from callsheet.tasks.store.addresses import KINDS, open_store
from callsheet.tasks.store.folder import FolderStore
from callsheet.tasks.store.store import File, StoredFile
from callsheet.tasks.values.locations import ObjectAddress, object_at
from tests.approvers import Approving
from tests.programs import Sandbox, simple_sheet


class Shelf(FolderStore):
    """A store at `shelf://bucket/prefix`, which keeps its files below a folder."""

    def __init__(self, folder: Path, where: ObjectAddress) -> None:
        super().__init__(folder / where.bucket / where.key)
        self._where = where

    @property
    def address(self) -> str:
        return str(self._where)

    async def put(self, *files: File, metadata: Mapping[str, str]) -> list[StoredFile]:
        stored = await super().put(*files, metadata=metadata)
        named = zip(stored, files, strict=True)
        return [replace(one, uri=f"{self.address}/{file.name}") for one, file in named]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "shelf"
    folder.mkdir()
    KINDS["shelf"] = partial(Shelf, folder)
    yield folder
    del KINDS["shelf"]


@pytest.mark.merge
async def test_videos_go_to_a_kind_of_store_that_is_registered(
    shelf: Path, tmp_path: Path, service: Sandbox
) -> None:
    (tmp_path / "launch.csv").write_text(simple_sheet(2))
    environ = {**service.environ, "CALLSHEET_STORE": "shelf://videos/2026"}
    settings = load_settings(environ=environ, folder=tmp_path)

    options = RunOptions(sheet=str(tmp_path / "launch.csv"))
    outcome = await run_sheet(options, settings, Approving())

    assert outcome.exit_status == 0
    async with await open_ledger(settings.ledger) as ledger:
        found = await ledger.read(videos_of)
    addresses = [video.files["mp4"].uri for video in found.values()]
    assert len(addresses) == 2
    for address in addresses:
        where = object_at(address)
        assert (where.scheme, where.bucket) == ("shelf", "videos")
        assert (shelf / where.bucket / where.key).stat().st_size > 0


def test_a_kind_that_nobody_registered_is_refused() -> None:
    with pytest.raises(ConfigurationError, match='"shelf://videos" is not a store'):
        open_store("shelf://videos")
