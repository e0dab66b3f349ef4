"""Videos at the service that are not needed there: shown, and deleted as they were shown."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from callsheet.deployments.board.board import Board
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.deployments.board.services.rows import campaign_named
from callsheet.tasks.aftercare.prune import Prune, PruneOut, say_done
from callsheet.tasks.engine.context import connect
from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.deletions import OldVideo
from callsheet.tasks.ledger.people import Person


async def show_old_videos(
    board: Board, person: Person, campaign: str, *, store: bool = False
) -> list[OldVideo]:
    """Return the videos of a campaign that may be deleted; raise ProblemDetails (404) for none.

    With `store`, also those of which only files in the store are left.
    """
    found = await campaign_named(board, campaign)
    wanted = Prune(by=person.name, store=store)
    return await wanted.find(board.ledger, found, board.settings, board.clock())


async def delete_videos(
    board: Board,
    person: Person,
    campaign: str,
    videos: Collection[str],
    *,
    undelivered: bool = False,
    store: bool = False,
) -> list[OldVideo]:
    """Delete these videos (by the service's ids), as far as they may be deleted.

    Raises ProblemDetails: 404 for no such campaign, 422 for a video that is not among those shown;
    Parked while a run has the campaign.
    """
    found = await campaign_named(board, campaign)
    wanted = Prune(by=person.name, undelivered=undelivered, store=store)
    shown = await wanted.find(board.ledger, found, board.settings, board.clock())
    known = {str(one.take.video_id): one for one in shown}
    if unknown := sorted(set(videos) - known.keys()):
        raise ProblemDetails(
            422,
            f"{unknown[0]} is not a video of {campaign} that may be deleted; nothing was deleted",
            remedy="Look at the list again.",
        )
    async with connect(board.settings, clock=board.clock) as at:
        done = await wanted.execute(at, found, [known[one] for one in videos])
    told = PruneOut.of(campaign, done)
    act = partial(note_act, act="prune", by=person.name, campaign=campaign, rows=told.deleted)
    await board.write(act, at=board.clock(), words=say_done(told, store=store))
    return done
