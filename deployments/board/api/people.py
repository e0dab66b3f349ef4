"""`/people`, `/links`, `/me`: who may come in, for programs; secrets are in the answer once."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from callsheet.deployments.board.board import Admin, TheBoard, Viewer
from callsheet.deployments.board.problem_details import Moment, ProblemDetails
from callsheet.deployments.board.services import people
from callsheet.tasks.ledger.people import Invited, InvitedRole, Person, Right, Role, all_people
from callsheet.tasks.ledger.sessions import Link, all_links
from callsheet.tasks.values.amounts import as_number

router = APIRouter(tags=["people"])

#: Larger numbers are no ids of the ledger's.
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


class Somebody(BaseModel):
    """A person; `allowance` in credits a day, null for no limit."""

    name: str
    role: Role
    allowance: float | None


class ListedPerson(Somebody):
    """A person as the list of people has them."""

    invited_by: str | None
    invited_at: Moment
    revoked_at: Moment | None
    seen_at: Moment | None


class Everybody(BaseModel):
    """Everybody who was ever invited."""

    people: list[ListedPerson]


class Invite(BaseModel):
    """Whom to invite; `again` renews someone who already exists."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=80)
    role: InvitedRole
    allowance: Decimal | None = Field(default=None, ge=0, le=10**9, decimal_places=6)
    again: bool = False


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


class Links(BaseModel):
    """Links, newest first."""

    links: list[ListedLink]


class NewLink(BaseModel):
    """A link to be made: for whom, to which campaign, with which rights, for how many days."""

    model_config = ConfigDict(extra="forbid")

    campaign: str = Field(min_length=1, max_length=200)
    name: str = Field(min_length=1, max_length=80)
    rights: list[Right] = Field(default=["see"], max_length=3)
    days: int = Field(default=14, ge=1, le=90)


class MadeLink(ListedLink):
    """A link that was made, and its address, which is shown this once.

    `here_only`: the address opens on the board's machine only.
    """

    address: str
    here_only: bool


class Gone(BaseModel):
    """Whether it was there until now."""

    revoked: Literal[True]


@router.get("/me")
async def who_am_i(person: Viewer) -> Somebody:
    """Return the person whose token this is."""
    return _new_person(person)


@router.get("/people")
async def list_people(board: TheBoard, person: Admin) -> Everybody:
    """List all people who were ever invited."""
    return Everybody(people=[_listed(one) for one in await board.read(all_people)])


@router.post("/people", status_code=201)
async def invite_person(board: TheBoard, person: Admin, wanted: Invite) -> Invitation:
    """Invite a person."""
    made = await people.invite(board, person.name, **wanted.model_dump())
    return Invitation(
        **dict(_new_person(made.person)),
        login=made.login,
        token=made.token,
        here_only=board.is_here_only,
    )


@router.delete("/people/{name}")
async def revoke_person(board: TheBoard, person: Admin, name: str) -> Gone:
    """Revoke a person: logins and tokens stop working at once."""
    if name == person.name:
        raise ProblemDetails(409, "you cannot revoke yourself: another admin can")
    if not await people.revoke(board, person.name, name):
        raise ProblemDetails(404, "there is no person with this name")
    return Gone(revoked=True)


@router.get("/links")
async def list_links(board: TheBoard, person: Admin, campaign: str | None = None) -> Links:
    """List links, to all campaigns or to one."""
    found = await board.read(all_links, campaign=campaign)
    return Links(links=[ListedLink(**_link(one)) for one in found])


@router.post("/links", status_code=201)
async def make_link(board: TheBoard, person: Admin, wanted: NewLink) -> MadeLink:
    """Make a link for a person outside the team."""
    made = await people.make(
        board,
        person.name,
        campaign=wanted.campaign,
        name=wanted.name,
        rights=wanted.rights,
        lasts=wanted.days * 86400.0,
    )
    return MadeLink(**_link(made.link), address=made.address, here_only=board.is_here_only)


@router.delete("/links/{link}")
async def end_link(board: TheBoard, person: Admin, link: Number) -> Gone:
    """Revoke a link; it logs out the browsers that used it."""
    if not await people.end(board, person.name, link):
        raise ProblemDetails(404, "no such link holds")
    return Gone(revoked=True)


def _new_person(person: Person) -> Somebody:
    return Somebody(name=person.name, role=person.role, allowance=as_number(person.allowance))


def _listed(one: Invited) -> ListedPerson:
    return ListedPerson(
        **dict(_new_person(one.person)),
        invited_by=one.invited_by,
        invited_at=one.invited_at,
        revoked_at=one.revoked_at,
        seen_at=one.seen_at,
    )


def _link(link: Link) -> dict[str, Any]:
    return {**vars(link), "link": link.id, "rights": sorted(link.rights)}
