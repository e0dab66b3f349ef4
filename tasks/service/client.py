"""The video service, typed: one short method for each operation, in the groups of its parts.

Every method ends in its value or a ServiceError. It knows no ledger: whoever spends commits body
and key first. A paid call that is cancelled (asyncio.CancelledError) while under way may have
been carried out: treat it as OutcomeUnknown.
"""

from __future__ import annotations

from tasks.service.catalog import Catalog
from tasks.service.films import Films
from tasks.service.remakes import Remakes
from tasks.service.videos import Videos
from tasks.service.webhooks import Webhooks


class VideoService(Videos, Films, Remakes, Webhooks, Catalog):
    """Every operation of the service, behind one address, one key and one gate."""
