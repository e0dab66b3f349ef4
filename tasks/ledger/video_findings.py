"""What is known of a video that was looked at: what is wrong with it, and its pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, or_, select, update

from callsheet.tasks.ledger.gathering import later
from callsheet.tasks.ledger.prepared import Prepared
from callsheet.tasks.ledger.schema import takes

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
class VideoFindings:
    """What is known of a video that was looked at: by check "ok" or what is wrong; its pictures."""

    checks: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[PictureKind, StoredPicture] = field(default_factory=dict)

    @property
    def wrong(self) -> dict[str, str]:
        """The checks that found something, and what it is."""
        return {name: words for name, words in self.checks.items() if words != "ok"}


def keep_findings(connection: Connection, take_id: int, findings: VideoFindings) -> None:
    """Keep what was found of a take's video, instead of what was known before."""
    pictures = {kind: asdict(one) for kind, one in findings.pictures.items()}
    values = {
        "the_take": take_id,
        "the_checks": json.dumps(dict(findings.checks)) if findings.checks else None,
        "the_flagged": len(findings.wrong) if findings.checks else None,
        "the_pictures": json.dumps(pictures) if pictures else None,
    }
    later(connection, _FOUND, [values])


def findings_of(connection: Connection, campaign_id: int) -> Mapping[int, VideoFindings]:
    """Return what is known of a campaign's videos, by take."""
    query = select(takes.c.id, takes.c.checks, takes.c.pictures).where(
        takes.c.campaign_id == campaign_id,
        or_(takes.c.checks.is_not(None), takes.c.pictures.is_not(None)),
    )
    return {one.id: findings_in(one.checks, one.pictures) for one in connection.execute(query)}


def findings_in(checks: str | None, pictures: str | None) -> VideoFindings:
    """Return findings as the ledger keeps them."""
    kept: dict[PictureKind, Any] = json.loads(pictures) if pictures else {}
    return VideoFindings(
        checks=json.loads(checks) if checks else {},
        pictures={kind: StoredPicture(**one) for kind, one in kept.items()},
    )
