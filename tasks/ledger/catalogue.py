"""What services told of what they offer, so that a sheet can be compared with it offline."""

from __future__ import annotations

import hashlib
import json

from sqlalchemy import Connection, delete, select, update

from callsheet.tasks.brief import canonical_json
from callsheet.tasks.catalogue import Catalogue
from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.schema import catalogues

#: How long the catalogue of an address that nobody asks any more is kept, in seconds.
KEPT = 30 * 86_400.0


def catalogue_of(connection: Connection, base_url: str | None) -> Catalogue | None:
    """Return what the service at an address told last; without one what any service did."""
    query = select(catalogues).order_by(catalogues.c.told_at.desc()).limit(1)
    if base_url is not None:
        query = query.where(catalogues.c.base_url == base_url)
    found = connection.execute(query).first()
    if found is None:
        return None
    body = json.loads(found.body)
    return Catalogue(base_url=found.base_url, told_at=found.told_at, body=body)


def keep_catalogue(connection: Connection, told: Catalogue) -> bool:
    """Keep it unless a newer one is known; return whether its service told something else before.

    What services at other addresses told long before it is dropped.
    """
    here = catalogues.c.base_url == told.base_url
    body = canonical_json(told.body)
    digest = hashlib.sha256(body).hexdigest()
    before = connection.scalar(select(catalogues.c.digest).where(here))
    values = {"told_at": told.told_at, "digest": digest, "body": body.decode()}
    if not insert_unless_there(connection, catalogues, {"base_url": told.base_url, **values}):
        older = catalogues.c.told_at <= told.told_at
        if connection.execute(update(catalogues).where(here, older).values(values)).rowcount == 0:
            return False
    connection.execute(delete(catalogues).where(catalogues.c.told_at < told.told_at - KEPT))
    return before != digest
