"""The digest of an inbox as a Prefect flow: at eight, say, while the night was at two.

What is told, and that it is told once, is in `tasks.notices`.
"""

import time
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from callsheet.flows.endings import ended
from callsheet.flows.prefect_logs import set_up_prefect_logs
from callsheet.tasks.errors import CallsheetError
from callsheet.tasks.ledger import open_ledger
from callsheet.tasks.nights.nights_file import find_inboxes
from callsheet.tasks.notices import digest
from callsheet.tasks.settings import load_settings
from callsheet.tasks.suggest import suggest_for


@flow(
    name="digest",
    description="Sends the digest of an inbox's last nightly run, once.",
    flow_run_name="digest {inbox}",
    retries=0,
    persist_result=False,
)
async def tell_digest(
    inbox: str, nights: str | None = None, profile: str | None = None
) -> State[dict[str, Any]]:
    """Send the digest of an inbox that is due; where there is nothing to tell, none is sent.

    Args:
        inbox: a name in nights.toml.
        nights: another file than nights.toml.
        profile: settings from a TOML profile.
    """
    set_up_prefect_logs()
    suggest_for(profile, flow=True)
    return await ended(_tell(inbox, nights, profile))


async def _tell(inbox: str, nights: str | None, profile: str | None) -> State[Any]:
    settings = load_settings(profile=profile)
    listed = nights or settings.nights
    file = None if listed is None else Path(listed)
    inboxes = find_inboxes(inbox, folder=Path.cwd(), file=file)
    async with await open_ledger(settings.ledger) as ledger:
        sent = await digest(ledger, settings, inboxes, clock=time.time)
    told = [one.subject for one in sent if one.failed is None]
    failed = [f"to {one.address}: {one.failed}" for one in sent if one.failed is not None]
    if failed:
        return Failed(message="; ".join(failed), data=CallsheetError("; ".join(failed)))
    return Completed(message="; ".join(told) or "nothing is due", data={"sent": told})
