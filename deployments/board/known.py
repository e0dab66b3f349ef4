"""The campaign that an address names: a dependency of the routes below it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Depends

from callsheet.deployments.board.board import Board, TheBoard
from callsheet.deployments.board.problem_details import ProblemDetails
from callsheet.tasks.ledger import Campaign, find_campaign


async def known_campaign(board: Board, name: str) -> Campaign:
    """Return the campaign of this name; raise ProblemDetails 404 where there is none."""
    found = await board.read(partial(find_campaign, name=name))
    if found is None:
        raise ProblemDetails(404, f"the ledger knows no campaign {name[:80]}")
    return found


async def _of_address(board: TheBoard, campaign: str) -> Campaign:
    return await known_campaign(board, campaign)


#: To stand behind the person, so that nobody learns of a campaign who may not see it.
TheCampaign = Annotated[Campaign, Depends(_of_address)]
