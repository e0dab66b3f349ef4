"""Browser sessions, and links for guests.

A session is a person's or a link's, and worth what they are worth at the moment of a request.
Moments are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, select, update

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.people import (
    RIGHTS,
    Link,
    Person,
    person_of,
    person_of_token,
    use_login,
)
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema import campaigns
from callsheet.tasks.ledger.schema_runs import links, sessions
from callsheet.tasks.runtime.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class BrowserSession:
    """A browser that is logged in: as whom, when it was last noted that it came, until when."""

    person: Person
    seen_at: float
    expires_at: float


def enter(
    connection: Connection,
    code: str,
    *,
    session: str,
    at: float,
    longest: float,
    called: str | None = None,
) -> BrowserSession | None:
    """Log a browser in by what has the digest `code`: a one-time login, a link, or a token.

    None where that opens nothing, or no more. A login is used up by it. `called` is what the guest
    of a link calls themselves.
    """
    person = use_login(connection, code, at=at)
    if person is None:
        person = person_of_token(connection, code, locked=True)
    if person is not None and person.role == "agent":
        # A browser is for people: what is pressed there is a person's word.
        return None
    link = None if person else _link(connection, links.c.digest == code, locked=True)
    if link is not None and link.holds(at):
        person = link.guest(called)
    if person is None:
        return None
    until = min(link.expires_at if link else at + longest, at + longest)
    connection.execute(delete(sessions).where(sessions.c.expires_at <= at))
    connection.execute(
        sessions.insert().values(
            digest=session,
            person_id=None if link else person.id,
            link_id=link.id if link else None,
            called=called if link else None,
            made_at=at,
            seen_at=at,
            expires_at=until,
        )
    )
    return BrowserSession(person=person, seen_at=at, expires_at=until)


def find_session(
    connection: Connection, digest: str, *, at: float, locked: bool = False
) -> BrowserSession | None:
    """Return a session that holds now, its person not revoked, its link neither run out.

    `locked`: its person or link stays as it is until this transaction ends.
    """
    this = (sessions.c.digest == digest) & (sessions.c.expires_at > at)
    found = connection.execute(select(sessions).where(this)).first()
    if found is None:
        return None
    if found.link_id is not None:
        link = _link(connection, links.c.id == found.link_id, locked=locked)
        person = link.guest(found.called) if link is not None and link.holds(at) else None
    else:
        person = person_of(connection, found.person_id, locked=locked)
    if person is None:
        return None
    return BrowserSession(person=person, seen_at=found.seen_at, expires_at=found.expires_at)


def person_of_session(
    connection: Connection, digest: str, *, clock: Callable[[], float]
) -> Person | None:
    """Return the person of a session that holds now; they stay so until this transaction ends."""
    found = find_session(connection, digest, at=clock(), locked=True)
    return found.person if found else None


def note_visit(connection: Connection, digest: str, *, at: float) -> None:
    """Note that a session's browser came."""
    connection.execute(update(sessions).where(sessions.c.digest == digest).values(seen_at=at))


def close_session(connection: Connection, digest: str) -> None:
    """Log a browser out."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest))


def make_link(
    connection: Connection,
    *,
    digest: str,
    campaign: str,
    name: str,
    rights: Collection[str],
    by: str,
    at: float,
    expires_at: float,
    all_videos: bool = False,
    due_at: float | None = None,
    selection: str | None = None,
    logo: bytes | None = None,
) -> Link:
    """Keep a link to a campaign's videos; raise BadInput where there is no such campaign."""
    where = connection.scalar(select(campaigns.c.id).where(campaigns.c.name == campaign))
    if where is None:
        raise BadInput(f'there is no campaign "{campaign}"')
    connection.execute(
        links.insert().values(
            digest=digest,
            campaign_id=where,
            name=name,
            rights=",".join(right for right in RIGHTS if right in rights),
            made_by=by,
            made_at=at,
            expires_at=expires_at,
            all_videos=all_videos,
            due_at=due_at,
            selection=selection,
            logo=logo,
        )
    )
    made = link_of(connection, digest)
    assert made is not None
    note_act(connection, at=at, by=by, act="link", campaign=campaign, words=f"for {name}")
    return made


def link_of(connection: Connection, digest: str) -> Link | None:
    """Return the link of a digest, whether or not it still holds."""
    return _link(connection, links.c.digest == digest)


def logo_of(connection: Connection, link: int) -> bytes | None:
    """Return the logo that a link shows, a PNG; None where it has none."""
    return connection.scalar(select(links.c.logo).where(links.c.id == link))


def all_links(connection: Connection, campaign: str | None = None) -> list[Link]:
    """Return every link, or those to one campaign, newest first."""
    which = campaigns.c.name == campaign if campaign is not None else links.c.id.is_not(None)
    return _LINKS.all(connection, _LINKS.query.where(which).order_by(links.c.id.desc()))


def links_due(connection: Connection, *, at: float, until: float) -> list[Link]:
    """Return the links that hold now, and whose guests are to decide between these moments."""
    due = links.c.due_at.between(at, until) & links.c.revoked_at.is_(None)
    found = _LINKS.all(connection, _LINKS.query.where(due).order_by(links.c.id))
    return [link for link in found if "decide" in link.rights and link.holds(at)]


def revoke_link(connection: Connection, link: int, *, by: str, at: float) -> bool:
    """End a link and anyone who is in by it; False if there is none, or it was ended before."""
    this = (links.c.id == link) & links.c.revoked_at.is_(None)
    if connection.execute(update(links).where(this).values(revoked_at=at)).rowcount == 0:
        return False
    connection.execute(delete(sessions).where(sessions.c.link_id == link))
    ended = _link(connection, links.c.id == link)
    if ended is not None:
        words = f"for {ended.name}"
        note_act(connection, at=at, by=by, act="unlink", campaign=ended.campaign, words=words)
    return True


_LINKS = Records(
    Link,
    links,
    joined=links.join(campaigns, campaigns.c.id == links.c.campaign_id),
    words={"rights": ","},
    campaign=campaigns.c.name,
    has_logo=links.c.logo.is_not(None),
)


def _link(connection: Connection, which: Any, *, locked: bool = False) -> Link | None:
    query = _LINKS.query.where(which)
    if locked:
        query = query.with_for_update(key_share=True, of=links)
    return _LINKS.first(connection, query)
