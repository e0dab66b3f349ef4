"""Deletes videos at the service that are not needed there any more, and their files if asked.

A video goes only after its files were found in the store with the right size and sha256. Every
deletion is in the ledger before and after it, and can be repeated after a crash.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from pydantic import BaseModel

from callsheet.tasks.aftercare.findings import Finding
from callsheet.tasks.aftercare.verify import audited
from callsheet.tasks.campaign.lease import leased
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.report_files import write_report
from callsheet.tasks.campaign.run_record import recorded
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
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.values import rows_of
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import CallsheetError, NotFound
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.service.operations import DELETE
from callsheet.tasks.store.addresses import Places
from callsheet.tasks.values.amounts import as_number, count, in_credits, say_duration

log = logging.getLogger("callsheet.aftercare")

#: Why a video may be deleted, if not because it was delivered long ago.
LEFT = "its row left the sheet"
#: Seconds for videos that are ready and not delivered yet: they are downloaded first.
LIMIT = 600.0


class PrunedFiles(BaseModel):
    """The files of a video in the store: those that were deleted, and which stay and why."""

    deleted: Sequence[str]
    kept: Sequence[str]


class PrunedVideo(BaseModel):
    """A video: why it may be deleted, whether it was, and why it stays."""

    row: str
    take: int
    video_id: str
    charged: int | float | None
    because: str
    deleted: bool
    kept: str | None
    files: PrunedFiles

    @classmethod
    def of(cls, old: OldVideo) -> PrunedVideo:
        """Return what a document says of a video."""
        return cls(
            row=old.row.row,
            take=old.take.number,
            video_id=str(old.take.video_id),
            charged=as_number(old.take.charged),
            because=old.because,
            deleted=old.deleted,
            kept=old.kept,
            files=PrunedFiles(deleted=old.gone, kept=old.kept_files),
        )


class PruneOut(BaseModel):
    """The videos, how many were deleted or have to stay; `exit` as the command's exit status."""

    campaign: str
    videos: list[PrunedVideo]
    deleted: int
    kept: int
    files_deleted: int
    exit: int

    @classmethod
    def of(cls, campaign: str, videos: Sequence[OldVideo]) -> PruneOut:
        """Return what would be deleted of a campaign, or was."""
        return cls(
            campaign=campaign,
            videos=[PrunedVideo.of(one) for one in videos],
            deleted=sum(one.deleted for one in videos),
            kept=sum(one.kept is not None for one in videos),
            files_deleted=sum(len(one.gone) for one in videos),
            exit=3 if any(one.kept or one.kept_files for one in videos) else 0,
        )


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
    ) -> list[OldVideo]:
        """Return the videos of a campaign that may be deleted, and those that have to stay."""
        keep = campaign.keep_at_service
        keep = settings.keep_at_service if keep is None else keep
        if keep is None and not self.retired:
            return []
        before = None if keep is None else now - keep
        found = await ledger.read(
            old_videos, campaign_id=campaign.id, before=before, retired=self.retired
        )
        if not self.store:
            found = [one for one in found if one.take.deleted_at is None]
        if not self.undelivered:
            # A render that failed and cost nothing is nothing to decide about.
            found = [one for one in found if one.take.delivered_at or one.take.charged != 0]
        return [self._judged(one, keep) for one in found]

    async def execute(
        self, at: Context, campaign: Campaign, videos: Iterable[OldVideo]
    ) -> list[OldVideo]:
        """Delete these videos, as far as they may still be deleted; return what was done.

        Raises Parked while a run has the campaign, SpendRefused if another service made it.
        """
        check_same_money(campaign, sandbox=at.settings.sandbox)
        takes = {one.take.id for one in videos}
        async with AsyncExitStack() as stack:
            record = await stack.enter_async_context(recorded("prune", at.settings, by=self.by))
            held = leased(at.ledger, campaign, clock=at.clock, lapse=at.settings.lease)
            lease = await stack.enter_async_context(held)
            record.begin(at.ledger, at.settings, campaign.name)
            await _deliver_ready(at, campaign)
            found = await self.find(at.ledger, campaign, at.settings, at.clock())
            places = await stack.enter_async_context(Places())

            async def one(old: OldVideo) -> OldVideo:
                if lease.lost is not None:
                    return replace(old, kept=lease.lost)
                return await self._delete(old, at, places)

            chosen = (old for old in found if old.take.id in takes)
            done = await map_at_once(one, chosen, at_once=at.settings.at_once)
            if any(old.deleted or old.gone for old in done):
                await write_report(at, campaign)
        return done

    def _judged(self, old: OldVideo, keep: float | None) -> OldVideo:
        """Return a video with why it may be deleted, or has to stay."""
        because = LEFT
        if not (old.left and self.retired) and keep is not None:
            because = (
                f"delivered on {day(old.take.delivered_at)}, kept there for {say_duration(keep)}"
            )
        return replace(old, because=because, kept=self._kept(old))

    def _kept(self, old: OldVideo) -> str | None:
        """Return why a video has to stay at the service, as far as the ledger knows."""
        if old.kept is not None:
            return old.kept
        if old.take.deleted_at is not None or old.take.delivered_at is not None:
            return None
        if old.take.charged is None:
            return "its render has not ended: put the row back into the sheet and run it"
        if not self.undelivered:
            paid = in_credits(old.take.charged)
            return f"it is not in the store, and cost {paid}: `--undelivered` deletes it too"
        return None

    async def _delete(self, old: OldVideo, at: Context, places: Places) -> OldVideo:
        try:
            if old.kept is None and old.take.deleted_at is None:
                old = await self._delete_video(old, at, places)
            if old.kept is None and self.store and old.left:
                old = await self._delete_files(old, at, places)
        except CallsheetError as error:
            return replace(old, kept=str(error))
        return old

    async def _delete_video(self, old: OldVideo, at: Context, places: Places) -> OldVideo:
        """Delete a video at the service once its files were found in the store."""
        video_id, because = str(old.take.video_id), old.because
        if (trouble := await _trouble(old, at, places)) is not None:
            return replace(old, kept=trouble)
        words = f"{video_id} is about to be deleted at the service ({because}), {self.by}"
        intend = partial(intend_deletion, old=old, words=words, undelivered=self.undelivered)
        if not await at.ledger.write(intend, at=at.clock()):
            return replace(old, kept="it changed meanwhile: run this command again")
        try:
            await at.service.ask(DELETE, video_id)
            words = f"{video_id} is deleted at the service"
        except NotFound:
            # Also after a crash between the deletion and its record.
            words = f"{video_id} was gone at the service"
        by = self.by if because == LEFT else RETENTION
        record = partial(record_deletion, old=old, by=by, words=f"{words} ({because}), {self.by}")
        await at.ledger.write(record, at=at.clock())
        return replace(old, deleted=True)

    async def _delete_files(self, old: OldVideo, at: Context, places: Places) -> OldVideo:
        """Delete the files of a take in the store: those that are what was delivered."""
        gone: list[Finding] = []
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
            pictures = list(old.pictures)
        files = [one.file for one in gone if one.file is not None]
        for uri in [*(one.uri for one in files), *pictures]:
            await places.of(uri).delete(uri)
        if files:
            said = ", ".join(f"{one.uri} ({one.bytes} bytes, sha256 {one.sha256})" for one in files)
            words = f"deleted in the store, {self.by}: {said}"
            record = partial(record_deleted_files, old=old, kinds=[one.kind for one in files])
            await at.ledger.write(record, words=words, at=at.clock())
        return replace(old, gone=[one.uri for one in files], kept_files=kept)


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
            if not (videos := doomed(found)):
                continue
            async with connect(settings, clock=clock) as at:
                done = await wanted.execute(at, campaign, videos)
        except CallsheetError as error:
            log.warning("old videos of %s stay at the service: %s", name, error)
            continue
        deleted = count(sum(one.deleted for one in done), "video")
        log.info("%s: %s deleted at the service", name, deleted)
        for one in done:
            if one.kept is not None:
                log.warning("%s of %s stays at the service: %s", one.row.row, name, one.kept)


def day(moment: float | None) -> str:
    """Return a moment (Unix seconds) as a day, UTC."""
    return f"{datetime.fromtimestamp(moment or 0, UTC):%Y-%m-%d}"


async def _deliver_ready(at: Context, campaign: Campaign) -> None:
    """Download what is ready at the service and not in the store yet."""
    if ready := await at.ledger.read(rows_of, campaign_id=campaign.id, states=["ready"]):
        async with Engine(campaign, at, max_wait=LIMIT) as engine:
            await engine.process(ready)


async def _audit(old: OldVideo, at: Context, places: Places) -> list[Finding]:
    """Return the files of a take as they are in the store now."""
    files = (
        Finding(row=old.row, take=old.take, kind=file.kind, file=file, verdict="unknown")
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


def doomed(found: Iterable[OldVideo]) -> list[OldVideo]:
    """Return the videos that may be deleted."""
    return [one for one in found if one.kept is None]


def what_goes(videos: Sequence[OldVideo], *, store: bool) -> tuple[int, int]:
    """Return how many videos at the service and, with `store`, files there are to delete."""
    files = sum(len(one.files) for one in videos if one.left) if store else 0
    return sum(one.take.deleted_at is None for one in videos), files


def say_wanted(campaign: str, videos: Sequence[OldVideo], *, store: bool) -> str:
    """Say what is about to be deleted, as a question."""
    there, files = what_goes(videos, store=store)
    what = [f"{count(there, 'video')} at the service"] if there else []
    what += [f"{count(files, 'file')} in the store"] if files else []
    return f"Delete {' and '.join(what) or 'nothing'} of {campaign}?"


def say_done(done: PruneOut, *, store: bool) -> str:
    """Say how much was deleted, behind a number of videos."""
    files = f", {count(done.files_deleted, 'file')} in the store" if store else ""
    return f"deleted at the service{files}"
