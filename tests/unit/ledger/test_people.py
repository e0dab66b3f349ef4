"""People, logins, sessions, links and acts, on both databases; secrets are digests."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, select
from sqlalchemy.exc import OperationalError

from callsheet.tasks.ledger.campaigns import ensure_campaign
from callsheet.tasks.ledger.database import ledger_url
from callsheet.tasks.ledger.ledger import Ledger, open_ledger
from callsheet.tasks.ledger.people import (
    Person,
    all_people,
    allow_agent,
    find_person,
    invite_person,
    make_login,
    person_of_token,
    revoke_person,
    whose_login,
)
from callsheet.tasks.ledger.schema_runs import people
from callsheet.tasks.ledger.sessions import close_session, enter, find_session, make_link
from callsheet.tasks.runtime.errors import BadInput
from tests.databases import empty_ledger

DAY = 86400.0


async def invited(ledger: Ledger, name: str = "Ann", **how: Any) -> Person:
    said = {"role": "approver", "token": f"token of {name}", "login": f"login of {name}", **how}
    return await ledger.write(invite_person, name=name, login_until=DAY, by="Ada", at=1.0, **said)


async def entered(ledger: Ledger, code: str, session: str = "s", at: float = 2.0) -> bool:
    return await ledger.write(enter, code=code, session=session, at=at, longest=DAY) is not None


@pytest.mark.safeguard(
    "tasks/ledger/people.py",
    "if connection.execute(update(logins).where(this).values(used_at=at)).rowcount == 0:",
    "if connection.execute(update(logins).where(this).values(used_at=at)).rowcount < 0:",
)
async def test_a_login_is_used_once_however_many_try(ledger: Ledger) -> None:
    person = await invited(ledger, allowance=Decimal("12.5"))
    assert await ledger.read(find_person, name="Ann") == person
    await ledger.write(make_login, digest="short", person=person.id, expires_at=5.0)
    assert await ledger.read(whose_login, digest="short", at=4.0) == person
    assert not await entered(ledger, "short", at=5.0)

    tried = [entered(ledger, "login of Ann", session=f"s{n}") for n in range(10)]

    assert sorted(await asyncio.gather(*tried)) == [False] * 9 + [True]
    assert await ledger.read(whose_login, digest="login of Ann", at=2.0) is None


async def test_whoever_is_revoked_has_no_session_login_or_token(ledger: Ledger) -> None:
    await invited(ledger)
    assert await entered(ledger, "token of Ann")

    revoke = partial(revoke_person, name="Ann", by="Ada", at=3.0)
    assert await ledger.write(revoke)
    assert not await ledger.write(revoke)

    assert await ledger.read(find_session, digest="s", at=4.0) is None
    assert not await entered(ledger, "login of Ann")
    assert not await entered(ledger, "token of Ann")
    (listed,) = await ledger.read(all_people)
    assert listed.revoked_at == 3.0


@pytest.mark.safeguard(
    "tasks/ledger/sessions.py",
    "this = (sessions.c.digest == digest) & (sessions.c.expires_at > at)",
    "this = sessions.c.digest == digest",
)
async def test_a_session_ends_with_its_time_or_when_it_is_closed(ledger: Ledger) -> None:
    await invited(ledger)
    await entered(ledger, "token of Ann", at=2.0)
    await entered(ledger, "token of Ann", session="t", at=2.0)

    assert await ledger.read(find_session, digest="s", at=DAY)
    assert await ledger.read(find_session, digest="s", at=2.0 + DAY) is None
    await ledger.write(close_session, digest="t")
    assert await ledger.read(find_session, digest="t", at=3.0) is None


@pytest.fixture
async def spring(ledger: Ledger) -> Ledger:
    await ledger.write(ensure_campaign, name="spring", sheet="s.csv", sheet_digest="0", at=0.0)
    return ledger


async def linked(ledger: Ledger, *rights: str) -> int:
    make = partial(make_link, digest="link", campaign="spring", name="Mara", rights=rights)
    return (await ledger.write(make, by="Ada", at=1.0, expires_at=10.0)).id


@pytest.mark.safeguard(
    "tasks/ledger/people.py",
    "return self.revoked_at is None and at < self.expires_at",
    "return True",
)
async def test_a_link_lets_in_as_whom_it_was_made_for_and_no_longer_than_it_holds(spring: Ledger):
    number = await linked(spring, "see", "decide")
    assert await entered(spring, "link")
    assert await entered(spring, "link", session="again")

    found = await spring.read(find_session, digest="s", at=9.0)

    assert found.person.name == f"Mara (link {number})"
    assert found.person.role == "reviewer"
    assert found.person.guest.campaign == "spring"
    assert not found.person.may_download
    assert await spring.read(find_session, digest="s", at=10.0) is None
    assert not await entered(spring, "link", session="late", at=10.0)


@pytest.mark.safeguard(
    "tasks/ledger/people.py", "query = query.with_for_update(key_share=True)", "pass"
)
async def test_a_person_stays_as_they_are_until_their_change_is_committed(made_database: str):
    """SQLite has one writer; on PostgreSQL a revocation waits for the change, or comes first."""
    other = create_engine(ledger_url(made_database))
    token, session = {"digest": "token of Ann"}, {"digest": "s", "at": 3.0}
    try:
        async with await open_ledger(made_database) as ledger:
            await invited(ledger)
            await entered(ledger, "token of Ann")

            def is_held(connection: Connection, find: Any) -> bool:
                assert find(connection, locked=True) is not None
                with other.connect() as elsewhere:
                    try:
                        elsewhere.execute(select(people.c.id).with_for_update(nowait=True))
                    except OperationalError:
                        return True
                return False

            for find in (partial(person_of_token, **token), partial(find_session, **session)):
                assert await ledger.write(is_held, find=find)
    finally:
        other.dispose()
        empty_ledger(made_database)


@pytest.mark.safeguard(
    "tasks/ledger/sessions.py", 'if person is not None and person.role == "agent":', "if False:"
)
async def test_an_agent_has_a_token_and_an_allowance_and_never_a_browser(ledger: Ledger) -> None:
    allow = partial(allow_agent, name="agent:a", by="Ada", at=1.0)
    first = await ledger.write(allow, allowance=None, token=None)
    assert (first.role, first.allowance) == ("agent", 0)
    assert not first.may("approver")
    given = await ledger.write(allow, allowance=Decimal(200), token="secret")
    again = await ledger.write(allow, allowance=None, token=None)
    assert given == again
    assert (again.id, again.allowance) == (first.id, 200)

    assert await ledger.read(person_of_token, digest="secret") == again
    assert not await entered(ledger, "secret")


async def test_a_person_who_has_the_name_of_an_agent_is_none(ledger: Ledger) -> None:
    """A ledger from before agents may have one."""
    ann = await invited(ledger, "agent:a", allowance=Decimal(1))
    allow = partial(allow_agent, name="agent:a", by="Ada", at=1.0)
    with pytest.raises(BadInput):
        await ledger.write(allow, allowance=Decimal(500), token=None)
    assert await ledger.read(find_person, name="agent:a") == ann
