"""`callsheet board invite, people, link, links`: who may come in, and guests of one campaign.

Secrets are in an answer once: a login, a token, the address of a link.
"""

from __future__ import annotations

import asyncio
import unicodedata
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, Field, WithJsonSchema, computed_field

from callsheet.deployments.at import At
from callsheet.deployments.tokens import digest_of, make_token
from callsheet.tasks.campaign.selection import check_chosen
from callsheet.tasks.ledger import people as ledger_people
from callsheet.tasks.ledger import sessions as ledger_links
from callsheet.tasks.ledger.people import AGENT, Invited, InvitedRole, Person, Right, Role
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.sessions import Link
from callsheet.tasks.runtime.errors import BadInput, NoSuch, WrongState
from callsheet.tasks.store.pictures import make_logo
from callsheet.tasks.values.answers import Credits, Moment

#: How long a one-time login of an invitation waits, in seconds: someone may be on leave.
INVITATION = 7 * 86400.0
LONGEST_NAME = 80
#: Days that a link lasts at most.
LONGEST_LINK = 90
#: What a person is told who makes an address that no one else can open.
HERE_ONLY = "This address opens on this machine only."
HERE_ONLY_REMEDY = (
    "For other people, put a proxy with https in front of the board and start it with "
    "--behind-proxy --url https://board.example."
)

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class Somebody(BaseModel):
    """A person; `allowance` in credits a day, null for no limit."""

    name: str
    role: Role
    allowance: Annotated[Credits, WithJsonSchema({"type": "number"})] | None


class ListedPerson(Somebody):
    """A person as the list of people has them."""

    invited_by: str | None
    invited_at: Moment
    revoked_at: Moment | None
    seen_at: Moment | None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def revoked(self) -> bool:
        """Whether they may not come in any more."""
        return self.revoked_at is not None


class Everybody(BaseModel):
    """Everybody who was ever invited."""

    people: list[ListedPerson]


class Invitation(Somebody):
    """An invitation: `login` is a one-time address for a browser, `token` for programs.

    `here_only`: the address opens on the board's machine only.
    """

    login: str
    token: str
    here_only: bool


class ListedLink(BaseModel):
    """A link for a person from outside the team."""

    link: int
    campaign: str
    name: str
    rights: list[Right]
    made_by: str
    made_at: Moment
    expires_at: Moment
    revoked_at: Moment | None
    all_videos: bool
    due_at: Moment | None
    #: Which rows it shows, as `--select` takes it; all of them where it is null.
    selection: str | None
    has_logo: bool

    @computed_field  # type: ignore[prop-decorator]
    @property
    def revoked(self) -> bool:
        """Whether a person ended it."""
        return self.revoked_at is not None

    def holds(self, at: float) -> bool:
        """Whether it opens anything at this moment."""
        return self.revoked_at is None and at < self.expires_at


class Links(BaseModel):
    """Links, newest first."""

    links: list[ListedLink]


class MadeLink(ListedLink):
    """A link that was made, and its address, which is shown this once.

    `here_only`: the address opens on the board's machine only.
    """

    address: str
    here_only: bool


class Gone(BaseModel):
    """It was there until now."""

    revoked: Literal[True]


async def who_am_i(at: At) -> Somebody:
    """Return the person whose token this is."""
    assert at.person is not None
    return Somebody(**_somebody(at.person))


async def list_people(at: At) -> Everybody:
    """List all people who were ever invited."""
    return Everybody(people=[_listed(one) for one in await at.read(ledger_people.all_people)])


async def invite_person(
    at: At,
    name: Name,
    role: InvitedRole,
    allowance: Annotated[
        Decimal | None, Field(ge=0, le=10**9, decimal_places=6, description="credits a day")
    ] = None,
    again: Annotated[bool, Field(description="renew someone, who keeps an allowance")] = False,
) -> Invitation:
    """Invite a person."""
    token, code = make_token(at.token), make_token(at.token)
    now = at.clock()
    person = await at.write(
        ledger_people.invite_person,
        name=checked_name(name),
        role=role,
        token=digest_of(token),
        login=digest_of(code),
        login_until=now + INVITATION,
        by=at.by,
        at=now,
        allowance=allowance,
        again=again,
    )
    login = login_address(at, code)
    return Invitation(**_somebody(person), login=login, token=token, here_only=at.is_here_only)


async def revoke_person(at: At, name: str) -> Gone:
    """Revoke a person: logins and tokens stop working at once."""
    if name == at.by:
        raise WrongState("you cannot revoke yourself: another admin can")
    if not await at.write(ledger_people.revoke_person, name=name, by=at.by, at=at.clock()):
        remedy = "`callsheet board people` lists them"
        raise NoSuch(f'there is no person called "{name}"', remedy=remedy)
    return Gone(revoked=True)


async def list_links(at: At, campaign: str | None = None) -> Links:
    """List links, to all campaigns or to one."""
    found = await at.read(ledger_links.all_links, campaign=campaign)
    return Links(links=[ListedLink(**_link(one)) for one in found])


async def make_link(
    at: At,
    campaign: Annotated[str, Field(min_length=1, max_length=200)],
    name: Name,
    rights: Annotated[tuple[Right, ...], Field(max_length=3)] = ("see",),
    days: Annotated[float, Field(gt=0, le=LONGEST_LINK)] = 14,
    all_videos: Annotated[
        bool, Field(description="also show videos that the team has not kept")
    ] = False,
    due: Annotated[date | None, Field(description="last day (UTC) for the guest to decide")] = None,
    select: Annotated[
        str | None, Field(max_length=4000, description="show only these rows, such as tag:x")
    ] = None,
    logo: Annotated[
        Base64Bytes | None, Field(description="the client's logo: PNG, JPEG or WebP, in base64")
    ] = None,
) -> MadeLink:
    """Make a link for a person outside the team."""
    if not 0 < days <= LONGEST_LINK:
        raise BadInput(f"a link lasts up to {LONGEST_LINK} days")
    which = RowFilter.parse(select)
    if not which.is_empty:
        known = await at.campaign(campaign)
        await at.read(check_chosen, campaign=known, which=which)
    code, now = make_token(at.token), at.clock()
    expires_at = now + days * 86400.0
    link = await at.write(
        ledger_links.make_link,
        digest=digest_of(code),
        campaign=campaign,
        name=checked_name(name),
        # Anyone who may decide or download has to see.
        rights={"see", *rights},
        by=at.by,
        at=now,
        expires_at=expires_at,
        all_videos=all_videos,
        due_at=_due(due, now, expires_at),
        selection=str(which) or None,
        logo=None if logo is None else await asyncio.to_thread(make_logo, logo),
    )
    address = login_address(at, code)
    return MadeLink(**_link(link), address=address, here_only=at.is_here_only)


async def end_link(at: At, link: Annotated[int, Field(ge=1, le=2**31 - 1)]) -> Gone:
    """Revoke a link; it logs out the browsers that used it."""
    if not await at.write(ledger_links.revoke_link, link=link, by=at.by, at=at.clock()):
        remedy = "`callsheet board links` lists them"
        raise NoSuch(f"no link {link} holds", remedy=remedy)
    return Gone(revoked=True)


def _due(day: date | None, now: float, expires_at: float) -> float | None:
    """Return the end of a day (UTC), in Unix seconds; raise BadInput where the link ends before."""
    if day is None:
        return None
    begins = datetime.combine(day, time(), UTC).timestamp()
    if not now - 86400.0 < begins <= expires_at:
        raise BadInput(f"{day} is not within the days that the link lasts; no link was made")
    return begins + 86400.0


def login_address(at: At, code: str) -> str:
    """Return where a one-time login, or a link, leads in."""
    return f"{at.origin}/login?code={code}"


def checked_name(name: str) -> str:
    """Return a person's name without what cannot be seen; raise BadInput where none is left."""
    seen = " ".join("".join(c for c in name if unicodedata.category(c)[0] != "C").split())
    if not seen or len(seen) > LONGEST_NAME:
        raise BadInput(f"a name has 1 to {LONGEST_NAME} characters")
    if "(link" in seen:
        raise BadInput('a name without "(link": those are of people who came by one')
    if seen.startswith(AGENT):
        raise BadInput(
            f'a name that begins with "{AGENT}" is a program\'s',
            remedy="`callsheet allow agent:NAME --credits N` lets a program in",
        )
    return seen


def _somebody(person: Person) -> dict[str, Any]:
    return {"name": person.name, "role": person.role, "allowance": person.allowance}


def _listed(one: Invited) -> ListedPerson:
    return ListedPerson(**{**vars(one), **_somebody(one.person)})


def _link(link: Link) -> dict[str, Any]:
    return {**vars(link), "link": link.id, "rights": sorted(link.rights)}
