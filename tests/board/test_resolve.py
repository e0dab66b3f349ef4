"""An uncertain row is settled by the API in one way that is said, and by nobody's silence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from callsheet.deployments.at import At
from callsheet.tasks.ledger.people import Person
from callsheet.tasks.ledger.sessions import Link
from callsheet.tasks.runtime.errors import NoSuch
from tests.board.conftest import OpenBoard
from tests.board.test_screens import in_every_state

ADDRESS = "/api/v1/campaigns/spring/rows"


@pytest.mark.merge
@pytest.mark.parametrize("said", [{}, {"resend": True, "abandon": True}, {"charged": 3}])
async def test_nothing_is_given_up_unless_one_way_is_said(
    open_board: OpenBoard, said: dict[str, object]
) -> None:
    await in_every_state(open_board)

    answer = await open_board.approver.post(f"{ADDRESS}/uncertain/resolve", json=said)

    assert (answer.status_code, "say one of" in answer.json()["detail"]) == (422, True)
    row = (await open_board.viewer.get(f"{ADDRESS}/uncertain")).json()
    assert row["state"] == "uncertain"


async def test_a_row_is_given_up_once(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    path = f"{ADDRESS}/uncertain/resolve"

    assert (await open_board.reviewer.post(path, json={"abandon": True})).status_code == 403
    done = await open_board.approver.post(path, json={"abandon": True})
    again = await open_board.approver.post(path, json={"abandon": True})

    assert (done.status_code, again.status_code) == (200, 409)
    assert "is cancelled" in done.json()["words"]


async def test_a_guest_learns_of_no_other_campaign(open_board: OpenBoard) -> None:
    await in_every_state(open_board)
    link = Link(
        id=1, campaign="gone", name="Client", rights=frozenset({"see"}), made_by="Ada",
        made_at=0.0, expires_at=1.0, revoked_at=None,
    )  # fmt: skip
    at = At(settings=open_board.board.settings, ledger=open_board.ledger, person=link.guest())
    somebody = replace(at, person=Person(id=1, name="Ann", role="viewer"))

    with pytest.raises(NoSuch) as told:
        await at.campaign("gone")
    with pytest.raises(NoSuch) as known:
        await somebody.campaign("gone")

    assert "spring" not in f"{told.value} {told.value.remedy}"
    assert "spring" in str(known.value.remedy)
