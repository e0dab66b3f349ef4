"""People who may use the board.

Roles, tokens and one-time logins, stored as digests; each of their changes checks them first.

Knows no token: what is asked for and kept is its sha256 in hex. Moments are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, wraps
from typing import Any, Literal, TypeVar, get_args

from sqlalchemy import Connection, case, delete, func, select, update

from callsheet.tasks.ledger.audit_log import note_act
from callsheet.tasks.ledger.database import insert_unless_there
from callsheet.tasks.ledger.records import Records
from callsheet.tasks.ledger.schema_runs import logins, people, sessions
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.values.amounts import in_credits, to_micro

Role = Literal["viewer", "reviewer", "agent", "approver", "admin"]
#: Each may do what those before it may; an agent is a program that approves within an allowance.
ROLES: tuple[Role, ...] = get_args(Role)
#: What a person may be invited as.
InvitedRole = Literal["viewer", "reviewer", "approver", "admin"]
#: How the name of every agent begins, and the name of no person.
AGENT = "agent:"
Right = Literal["see", "decide", "download"]
#: What a link may allow anyone who has it.
RIGHTS: tuple[Right, ...] = get_args(Right)


@dataclass(frozen=True, kw_only=True)
class Link:
    """An address for a guest: no account, one campaign, some rights, for a while.

    With a `selection` it shows no other rows, in the words of `row_filter`; with `all_videos` those
    videos, too, that nobody of the team keeps. Until `due_at` its guest is asked to decide.
    """

    id: int
    campaign: str
    name: str
    rights: frozenset[str]
    made_by: str
    made_at: float
    expires_at: float
    revoked_at: float | None
    all_videos: bool = False
    due_at: float | None = None
    selection: str | None = None
    has_logo: bool = False

    def holds(self, at: float) -> bool:
        """Whether it opens anything at this moment."""
        return self.revoked_at is None and at < self.expires_at

    def guest(self, called: str | None = None) -> Person:
        """Return who comes by it, as they call themselves."""
        return Person(
            id=0,
            name=f"{called}, {self.name}{self._mark}" if called else f"{self.name}{self._mark}",
            role="reviewer" if "decide" in self.rights else "viewer",
            guest=self,
        )

    def wrote(self, by: str) -> bool:
        """Whether something is by a guest of this link, however they call themselves."""
        return by.endswith(self._mark)

    def bare(self, by: str) -> str:
        """Return the name of a guest of this link as the guest reads it."""
        return by.removesuffix(self._mark)

    @property
    def _mark(self) -> str:
        # No person has such a name.
        return f" (link {self.id})"


@dataclass(frozen=True, kw_only=True)
class Person:
    """Someone who uses the board; `allowance` in credits a day, None for no limit.

    Anyone who came by a link has that as `guest`, and the id 0.
    """

    id: int
    name: str
    role: Role
    allowance: Decimal | None = None
    guest: Link | None = None

    def may(self, role: Role) -> bool:
        """Whether the person may do what someone of this role may."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def may_download(self) -> bool:
        """Whether videos may be taken home."""
        return self.guest is None or "download" in self.guest.rights


@dataclass(frozen=True, kw_only=True)
class Invited:
    """A person as a list of people shows one; `seen_at`: when a browser of theirs last came."""

    person: Person
    invited_by: str | None
    invited_at: float
    revoked_at: float | None
    seen_at: float | None


def invite_person(
    connection: Connection,
    *,
    name: str,
    role: Role,
    token: str,
    login: str,
    login_until: float,
    by: str,
    at: float,
    allowance: Decimal | None = None,
    again: bool = False,
) -> Person:
    """Let a person in, by the digests of a token and of a one-time login that holds until then.

    `again` renews one whose name is known: what they had before opens nothing any more. Without
    another `allowance` the one that they have stays, unless they were revoked. Raises BadInput
    where the name is taken and `again` was not said.
    """
    values = {
        "role": role,
        "token": token,
        "allowance": to_micro(allowance),
        "invited_by": by,
        "invited_at": at,
        "revoked_at": None,
    }
    there = connection.execute(select(people).where(people.c.name == name)).one_or_none()
    if there is None:
        connection.execute(people.insert().values(name=name, **values))
    elif not again:
        raise BadInput(
            f'there is a person "{name}" already',
            remedy="renew the invitation (`--again`; on the board, Renew an existing person): the "
            "old login and token then end",
        )
    else:
        if allowance is None and there.revoked_at is None:
            # A lost login is no reason to spend more.
            values["allowance"] = there.allowance
        # The person first: what they are doing at this moment ends before, or sees this.
        connection.execute(update(people).where(people.c.id == there.id).values(**values))
        _let_go(connection, there.id)
    found = find_person(connection, name)
    assert found is not None
    make_login(connection, digest=login, person=found.id, expires_at=login_until)
    note_act(connection, at=at, by=by, act="invite", words=f"{name} as {role}")
    return found


def allow_agent(
    connection: Connection,
    name: str,
    *,
    allowance: Decimal | None,
    token: str | None,
    by: str,
    at: float,
) -> Person:
    """Let an agent approve so many credits a day, and return it; a new one has 0.

    `token` is the digest of its new token. None leaves what there is. An agent that was revoked is
    let in again by an allowance only. Raises BadInput for one that was revoked.
    """
    insert_unless_there(
        connection,
        people,
        {"name": name, "role": "agent", "allowance": 0, "invited_by": by, "invited_at": at},
    )
    values: dict[str, Any] = {} if token is None else {"token": token}
    if allowance is not None:
        values |= {"allowance": to_micro(allowance), "invited_by": by, "revoked_at": None}
    if values:
        these = (people.c.name == name) & (people.c.role == "agent")
        connection.execute(update(people).where(these).values(**values))
    found = find_person(connection, name)
    if found is None or found.role != "agent":
        raise BadInput(
            f"{name} was revoked",
            remedy=f"`{suggest('allow', name, '--credits', 'N')}` lets it in again",
        )
    if allowance is not None:
        words = f"{name}: {in_credits(allowance)} a day"
        note_act(connection, at=at, by=by, act="allow", words=words)
    return found


def find_person(connection: Connection, name: str, *, locked: bool = False) -> Person | None:
    """Return the person who has this name and was not revoked; `locked` as in `person_of`."""
    return _person(connection, people.c.name == name, locked=locked)


def person_of(connection: Connection, number: int, *, locked: bool = False) -> Person | None:
    """Return the person of this id, unless they were revoked.

    `locked`: the person stays as they are until this transaction ends.
    """
    return _person(connection, people.c.id == number, locked=locked)


def person_of_token(connection: Connection, digest: str, *, locked: bool = False) -> Person | None:
    """Return whose token has this digest, unless they were revoked; `locked` as in `person_of`."""
    return _person(connection, people.c.token == digest, locked=locked)


def all_people(connection: Connection) -> list[Invited]:
    """Return everybody who was ever invited, by name; those who were revoked last."""
    query = _INVITED.query.group_by(people.c.id)
    query = query.order_by(people.c.revoked_at.is_not(None), people.c.name)
    return _INVITED.all(connection, query)


def renew_token(connection: Connection, person: int, *, token: str) -> None:
    """Give a person another token; the one before it opens nothing any more."""
    connection.execute(update(people).where(people.c.id == person).values(token=token))


def revoke_person(connection: Connection, name: str, *, by: str, at: float) -> bool:
    """Revoke a person, wherever they are logged in; False if that was so already."""
    this = (people.c.name == name) & people.c.revoked_at.is_(None)
    found = connection.scalar(select(people.c.id).where(this))
    if found is None:
        return False
    # The person first: what they are doing at this moment ends before, or sees this.
    gone = update(people).where(people.c.id == found).values(revoked_at=at, token=None)
    connection.execute(gone)
    _let_go(connection, found)
    note_act(connection, at=at, by=by, act="revoke", words=name)
    return True


def make_login(connection: Connection, *, digest: str, person: int, expires_at: float) -> None:
    """Keep a one-time login."""
    connection.execute(
        logins.insert().values(digest=digest, person_id=person, expires_at=expires_at)
    )


def whose_login(connection: Connection, digest: str, *, at: float) -> Person | None:
    """Return who could use a login now; it is not used up."""
    this = (logins.c.digest == digest) & logins.c.used_at.is_(None) & (logins.c.expires_at > at)
    found = connection.scalar(select(logins.c.person_id).where(this))
    return None if found is None else _person(connection, people.c.id == found)


def use_login(connection: Connection, digest: str, *, at: float) -> Person | None:
    """Use a login up and return whose it is; None where it was used, ran out or never was."""
    this = (logins.c.digest == digest) & logins.c.used_at.is_(None) & (logins.c.expires_at > at)
    if connection.execute(update(logins).where(this).values(used_at=at)).rowcount == 0:
        return None
    whose = select(logins.c.person_id).where(logins.c.digest == digest).scalar_subquery()
    return _person(connection, people.c.id == whose, locked=True)


def _person(connection: Connection, which: Any, *, locked: bool = False) -> Person | None:
    query = _PEOPLE.query.where(which & people.c.revoked_at.is_(None))
    if locked:
        # A session that refers to the person may be made meanwhile.
        query = query.with_for_update(key_share=True)
    return _PEOPLE.first(connection, query)


#: No limit is for people alone: an agent that was never given one may approve nothing.
_ALLOWANCE = case(
    (people.c.role == "agent", func.coalesce(people.c.allowance, 0)), else_=people.c.allowance
)
_PEOPLE = Records(Person, people, allowance=_ALLOWANCE)
_INVITED = Records(
    Invited,
    people,
    joined=people.outerjoin(sessions, sessions.c.person_id == people.c.id),
    person=_PEOPLE,
    seen_at=func.max(sessions.c.seen_at),
)


def _let_go(connection: Connection, person: int) -> None:
    """End every session and login of a person."""
    connection.execute(delete(sessions).where(sessions.c.person_id == person))
    connection.execute(delete(logins).where(logins.c.person_id == person))


# A change that belongs to a person: they are checked in its own transaction, before it.
#
# The person is locked until the commit, so a revocation comes before the change, which then fails,
# or after it.


T = TypeVar("T")


def checked_first(
    change: Callable[[Connection], T],
    *,
    find: Callable[[Connection], Person | None],
    check: Callable[[Person | None], None],
) -> Callable[[Connection], T]:
    """Return the change with a check before it; `check` raises where the person may not do this."""
    named = change.func if isinstance(change, partial) else change

    @wraps(named, updated=())
    def checked(connection: Connection) -> T:
        check(find(connection))
        return change(connection)

    return checked
