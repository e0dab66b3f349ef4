"""Deletes videos at the service that are not needed there any more, and their files if asked.

A video goes only after its files were found in the store with the right size and sha256. Every
deletion is in the ledger before and after it, and can be repeated after a crash.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from callsheet.tasks.aftercare.verify import AuditedFile, Places, audited
from callsheet.tasks.campaign.lease import leased
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.engine.context import Context, connect
from callsheet.tasks.engine.engine import Engine
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign
from callsheet.tasks.ledger.deletions import (
    RETENTION,
    OldVideo,
    intend_deletion,
    is_shared_file,
    old_videos,
    record_deleted_files,
    record_deletion,
)
from callsheet.tasks.ledger.deliveries import findings_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.runtime.errors import CallsheetError, NotFound
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service.operations import DELETE
from callsheet.tasks.values.amounts import as_number, count, in_credits, say_duration

log = logging.getLogger("callsheet.aftercare")

#: Why a video may be deleted, if not because it was delivered long ago.
LEFT = "its row left the sheet"
#: Seconds for videos that are ready and not delivered yet: they are downloaded first.
LIMIT = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Removal:
    """A video, why it may be deleted, and what was done.

    `kept` says why it stays at the service; `deleted` and `files` are what is gone, there and in
    the store, `kept_files` which files stay and why.
    """

    old: OldVideo
    because: str
    kept: str | None = None
    deleted: bool = False
    files: Sequence[str] = ()
    kept_files: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as one of the `videos` of `prune --json`."""
        take = self.old.take
        return {
            "row": self.old.row.row,
            "take": take.number,
            "video_id": take.video_id,
            "charged": as_number(take.charged),
            "because": self.because,
            "deleted": self.deleted,
            "kept": self.kept,
            "files": {"deleted": list(self.files), "kept": list(self.kept_files)},
        }


@dataclass(frozen=True, kw_only=True)
class Pruning:
    """What would be deleted of a campaign, or was."""

    campaign: Campaign
    videos: Sequence[Removal] = field(default=())

    @property
    def wanted(self) -> list[Removal]:
        """The videos that may be deleted."""
        return [one for one in self.videos if one.kept is None]

    @property
    def exit_status(self) -> int:
        """0 if everything is deleted, 3 if something has to stay."""
        return 3 if any(one.kept or one.kept_files for one in self.videos) else 0

    def as_json(self) -> dict[str, Any]:
        """Return the document of `prune --json`."""
        return {
            "campaign": self.campaign.name,
            "videos": [one.as_json() for one in self.videos],
            "deleted": sum(one.deleted for one in self.videos),
            "kept": sum(one.kept is not None for one in self.videos),
            "files_deleted": sum(len(one.files) for one in self.videos),
            "exit": self.exit_status,
        }


@dataclass(frozen=True, kw_only=True)
class Prune:
    """What to delete, and who says so.

    `undelivered` also deletes videos that the store does not have, `store` also the files of rows
    that left the sheet; without `retired`, only what was delivered long ago.
    """

    by: str
    undelivered: bool = False
    store: bool = False
    retired: bool = True

    async def find(
        self, ledger: Ledger, campaign: Campaign, settings: Settings, now: float
    ) -> Pruning:
        """Return the videos of a campaign that may be deleted, and those that have to stay."""
        keep = campaign.keep_at_service
        keep = settings.keep_at_service if keep is None else keep
        if keep is None and not self.retired:
            return Pruning(campaign=campaign)
        before = None if keep is None else now - keep
        found = await ledger.read(
            old_videos, campaign_id=campaign.id, before=before, retired=self.retired
        )
        if not self.store:
            found = [one for one in found if one.take.deleted_at is None]
        if not self.undelivered:
            # A render that failed and cost nothing is nothing to decide about.
            found = [one for one in found if one.take.delivered_at or one.take.charged != 0]
        return Pruning(campaign=campaign, videos=[self._removal(one, keep) for one in found])

    async def execute(self, at: Context, campaign: Campaign, only: Iterable[int]) -> Pruning:
        """Delete the videos of these takes (`Take.id`), as far as they may still be deleted.

        Raises Parked while a run has the campaign, SpendRefused if another service made it.
        """
        check_same_money(campaign, sandbox=at.settings.sandbox)
        takes = set(only)
        async with AsyncExitStack() as stack:
            held = leased(at.ledger, campaign, clock=at.clock, lapse=at.settings.lease)
            lease = await stack.enter_async_context(held)
            await _deliver_ready(at, campaign)
            found = await self.find(at.ledger, campaign, at.settings, at.clock())
            places = await stack.enter_async_context(Places())
            slots = asyncio.Semaphore(at.settings.at_once)

            async def one(removal: Removal) -> Removal:
                async with slots:
                    if lease is not None and lease.lost is not None:
                        return replace(removal, kept=lease.lost)
                    return await self._delete(removal, at, places)

            chosen = [removal for removal in found.videos if removal.old.take.id in takes]
            done = await asyncio.gather(*map(one, chosen))
            if any(removal.deleted or removal.files for removal in done):
                await write_report(at, campaign)
        return replace(found, videos=done)

    def _removal(self, old: OldVideo, keep: float | None) -> Removal:
        left = old.left and self.retired
        because = LEFT
        if not left and keep is not None:
            because = (
                f"delivered on {day(old.take.delivered_at)}, kept there for {say_duration(keep)}"
            )
        return Removal(old=old, because=because, kept=self._kept(old))

    def _kept(self, old: OldVideo) -> str | None:
        """Return why a video has to stay at the service, as far as the ledger knows."""
        if old.needed is not None:
            return old.needed
        if old.take.deleted_at is not None or old.take.delivered_at is not None:
            return None
        if old.take.charged is None:
            return "its render has not ended: put the row back into the sheet and run it"
        if not self.undelivered:
            paid = in_credits(old.take.charged)
            return f"it is not in the store, and cost {paid}: `--undelivered` deletes it too"
        return None

    async def _delete(self, removal: Removal, at: Context, places: Places) -> Removal:
        if removal.kept is not None:
            return removal
        try:
            if removal.old.take.deleted_at is None:
                removal = await self._delete_video(removal, at, places)
            if self.store and removal.old.left and removal.kept is None:
                removal = await self._delete_files(removal, at, places)
        except CallsheetError as error:
            return replace(removal, kept=str(error))
        return removal

    async def _delete_video(self, removal: Removal, at: Context, places: Places) -> Removal:
        """Delete a video at the service once its files were found in the store."""
        old, video_id = removal.old, str(removal.old.take.video_id)
        if (trouble := await _trouble(old, at, places)) is not None:
            return replace(removal, kept=trouble)
        words = f"{video_id} is about to be deleted at the service ({removal.because}), {self.by}"
        intend = partial(intend_deletion, old=old, words=words, undelivered=self.undelivered)
        if not await at.ledger.write(intend, at=at.clock()):
            return replace(removal, kept="it changed meanwhile: run this command again")
        try:
            await at.service.ask(DELETE, video_id)
            words = f"{video_id} is deleted at the service"
        except NotFound:
            # Also after a crash between the deletion and its record.
            words = f"{video_id} was gone at the service"
        words = f"{words} ({removal.because}), {self.by}"
        retention = removal.because != LEFT
        by = RETENTION if retention else self.by
        record = partial(record_deletion, old=old, by=by, words=words)
        await at.ledger.write(record, at=at.clock())
        return replace(removal, deleted=True)

    async def _delete_files(self, removal: Removal, at: Context, places: Places) -> Removal:
        """Delete the files of a take in the store: those that are what was delivered."""
        old = removal.old
        gone: list[AuditedFile] = []
        kept: list[str] = []
        for one in await _audit(old, at, places):
            assert one.file is not None
            uri = one.file.uri
            if await at.ledger.read(is_shared_file, uri=uri, old=old):
                kept.append(f"{uri} is the video of another row too")
            elif one.verdict not in ("intact", "missing"):
                kept.append(f"{uri}: {one.words}")
            else:
                gone.append(one)
        pictures: list[str] = []
        if any(one.kind == "mp4" for one in gone):
            findings = await at.ledger.read(findings_of, campaign_id=old.row.campaign_id)
            seen = [findings[number] for number in old.takes if number in findings]
            pictures = [one.uri for found in seen for one in found.pictures.values()]
        files = [one.file for one in gone if one.file is not None]
        for uri in [*(one.uri for one in files), *pictures]:
            await places.of(uri).delete(uri)
        if files:
            said = ", ".join(f"{one.uri} ({one.bytes} bytes, sha256 {one.sha256})" for one in files)
            words = f"deleted in the store, {self.by}: {said}"
            record = partial(record_deleted_files, old=old, kinds=[one.kind for one in files])
            await at.ledger.write(record, words=words, at=at.clock())
        return replace(removal, files=[one.uri for one in files], kept_files=kept)


async def prune_delivered(
    settings: Settings, ledger: Ledger, named: Iterable[str], *, clock: UnixClock
) -> None:
    """Delete at the service what these campaigns delivered longer ago than it is to be kept there.

    As their sheets say, or the settings. What cannot be deleted now is for the next nightly run.
    """
    wanted = Prune(by=RETENTION, retired=False)
    for name in sorted(set(named)):
        campaign = await ledger.read(find_campaign, name=name)
        if campaign is None:
            continue
        try:
            found = await wanted.find(ledger, campaign, settings, clock())
            if not found.wanted:
                continue
            async with connect(settings, clock=clock) as at:
                takes = [one.old.take.id for one in found.wanted]
                done = await wanted.execute(at, campaign, takes)
        except CallsheetError as error:
            log.warning("old videos of %s stay at the service: %s", name, error)
            continue
        deleted = count(sum(one.deleted for one in done.videos), "video")
        log.info("%s: %s deleted at the service", name, deleted)
        for one in done.videos:
            if one.kept is not None:
                log.warning("%s of %s stays at the service: %s", one.old.row.row, name, one.kept)


def day(moment: float | None) -> str:
    """Return a moment (Unix seconds) as a day, UTC."""
    return f"{datetime.fromtimestamp(moment or 0, UTC):%Y-%m-%d}"


async def _deliver_ready(at: Context, campaign: Campaign) -> None:
    """Download what is ready at the service and not in the store yet."""
    if ready := await at.ledger.read(rows_of, campaign_id=campaign.id, states=["ready"]):
        async with Engine(campaign, at, max_wait=LIMIT) as engine:
            await engine.process(ready)


async def _audit(old: OldVideo, at: Context, places: Places) -> list[AuditedFile]:
    """Return the files of a take as they are in the store now."""
    files = (
        AuditedFile(row=old.row, take=old.take, kind=file.kind, file=file, verdict="unknown")
        for file in old.files
    )
    return [await audited(one, places, at.settings.spool) for one in files]


async def _trouble(old: OldVideo, at: Context, places: Places) -> str | None:
    """Return why a delivered video has to stay: a file of it is not in the store as delivered.

    This is the last look: what is deleted at the service cannot be downloaded again.
    """
    if old.take.delivered_at is None:
        return None
    found = await _audit(old, at, places)
    if not any(one.kind == "mp4" for one in found):
        return "the ledger knows no file of it in the store"
    wrong = next((one for one in found if one.verdict != "intact"), None)
    if wrong is None:
        return None
    repair = suggest("verify", old.row.campaign, "--select", old.row.row, "--repair")
    return f"its {wrong.kind} in the store: {wrong.words}; `{repair}` first"


def say_wanted(found: Pruning, *, store: bool) -> str:
    """Say what is about to be deleted, as a question."""
    wanted = found.wanted
    there = [one for one in wanted if one.old.take.deleted_at is None]
    what = [f"{count(len(there), 'video')} at the service"] if there else []
    files = sum(len(one.old.files) for one in wanted if one.old.left) if store else 0
    what += [f"{count(files, 'file')} in the store"] if files else []
    return f"Delete {' and '.join(what) or 'nothing'} of {found.campaign.name}?"
