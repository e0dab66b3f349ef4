"""The film of one take with all that is beside it: captions, pictures, and what was found wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, select, update

from tasks.ledger.deliveries import Delivered
from tasks.ledger.gathering import later
from tasks.ledger.prepared import Prepared
from tasks.ledger.schema import campaigns, deliveries, rows, takes

PictureKind = Literal["poster", "strip"]

_FOUND = Prepared(
    update(takes)
    .where(takes.c.id == bindparam("the_take"))
    .values(
        checks=bindparam("the_checks"),
        flagged=bindparam("the_flagged"),
        pictures=bindparam("the_pictures"),
    )
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredPicture:
    """A JPEG in the store; width and height in pixels, `shown` how many different pictures a strip
    is made of."""

    uri: str
    bytes: int
    width: int
    height: int
    shown: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class FilmFindings:
    """What is known of a film that was looked at: by check "ok" or what is wrong; its pictures."""

    checks: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[PictureKind, StoredPicture] = field(default_factory=dict)

    @property
    def wrong(self) -> dict[str, str]:
        """The checks that found something, and what it is."""
        return {name: words for name, words in self.checks.items() if words != "ok"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TakeFilm:
    """The film of one take: its files by kind, and its findings."""

    campaign: str
    row: str
    take: int
    take_id: int
    files: Mapping[str, Delivered]
    findings: FilmFindings = field(default_factory=FilmFindings)


def keep_findings(connection: Connection, take_id: int, findings: FilmFindings) -> None:
    """Keep what was found of a take's film, instead of what was known before."""
    pictures = {kind: asdict(one) for kind, one in findings.pictures.items()}
    values = {
        "the_take": take_id,
        "the_checks": json.dumps(dict(findings.checks)) if findings.checks else None,
        "the_flagged": len(findings.wrong) if findings.checks else None,
        "the_pictures": json.dumps(pictures) if pictures else None,
    }
    later(connection, _FOUND, [values])


def find_take_film(
    connection: Connection, *, campaign: str, row: str, take: int
) -> TakeFilm | None:
    """Return what is in the store of a take, by its number in its row; None where nothing is."""
    query = (
        select(takes.c.checks, takes.c.pictures, deliveries)
        .join(rows, rows.c.id == takes.c.row_id)
        .join(campaigns, campaigns.c.id == rows.c.campaign_id)
        .join(deliveries, deliveries.c.take_id == takes.c.id)
        .where(campaigns.c.name == campaign, rows.c.row == row, takes.c.number == take)
    )
    found = connection.execute(query).all()
    if not found:
        return None
    names = ("kind", "uri", "sha256", "bytes", "seconds")
    files = {one.kind: Delivered(**{name: getattr(one, name) for name in names}) for one in found}
    findings = findings_in(found[0].checks, found[0].pictures)
    take_id = int(found[0].take_id)
    return TakeFilm(
        campaign=campaign, row=row, take=take, take_id=take_id, files=files, findings=findings
    )


def findings_in(checks: str | None, pictures: str | None) -> FilmFindings:
    """Return findings as the ledger keeps them."""
    kept: dict[PictureKind, Any] = json.loads(pictures) if pictures else {}
    return FilmFindings(
        checks=json.loads(checks) if checks else {},
        pictures={kind: StoredPicture(**one) for kind, one in kept.items()},
    )
