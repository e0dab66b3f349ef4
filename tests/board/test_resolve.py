"""An uncertain row is settled by the API in one way that is said, and by nobody's silence."""

from __future__ import annotations

import pytest

from tests.board.conftest import OpenBoard
from tests.board.test_screens import in_every_state

ADDRESS = "/api/v1/campaigns/spring/rows"


@pytest.mark.merge
@pytest.mark.parametrize("said", [{}, {"resend": True, "abandon": True}, {"charged": 3}])
async def test_nothing_is_given_up_unsaid(open_board: OpenBoard, said: dict[str, object]) -> None:
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
