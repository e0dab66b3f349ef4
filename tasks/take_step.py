"""A step of a run as the Prefect task run at hand, which ends as the run does: not with a crash
where somebody cancelled or paused it, and without a traceback where an error says what it is.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar, cast

from prefect.states import Cancelled, Failed

from callsheet.tasks.campaign.run import current_run, take_or_follow
from callsheet.tasks.campaign.taken import Step
from callsheet.tasks.errors import CallsheetError, Parked

T = TypeVar("T")


async def take_step(step: Step[T], *ids: str | int) -> T:
    """Take a step of the run at hand, or wait for its end where somebody else takes the steps.

    A run that was interrupted leaves it with a state instead, which Prefect takes for the end of
    the task run, and so does an error of ours: whoever awaits the task gets the error itself.
    """
    try:
        return await take_or_follow(step, *ids)
    except Parked as error:
        return cast(T, Cancelled(name="Parked", message=str(error), data=error))
    except CallsheetError as error:
        return cast(T, Failed(message=str(error), data=error))
    except asyncio.CancelledError:
        if (words := current_run().interrupted) is None:
            raise
        return cast(T, Cancelled(message=words))
