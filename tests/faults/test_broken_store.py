"""A store that breaks in the middle of a run: nothing more is paid for that could not be kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.production import Production
from tests.faults.trouble import troubled
from tests.launcher import Process
from tests.programs import Finished
from tests.stores import moto_s3
from tests.unit.store.s3_proxy import checking, refusal

pytestmark = pytest.mark.merge

VIDEOS = 8


@pytest.fixture
def one_by_one(production: Production) -> Production:
    """A campaign whose videos are paid for one after the other, each after a while."""
    production.asks_for(VIDEOS)
    production.desk.environ["CALLSHEET_AT_ONCE"] = "1"
    production.service.plan_fault(on="create", do="slow", every=1, seconds=2)
    return production


def ended(process: Process) -> Finished:
    out, err = process.communicate(timeout=120)
    return Finished(process.returncode or 0, out, err)


def stopped_paying(production: Production, run: Finished, words: str) -> None:
    """Check that a run has left rows unpaid, that it says why, and that the next run makes them."""
    paid = production.count("reserve")
    assert paid < VIDEOS
    assert run.status == 3, run.err
    assert production.states() == {"held": VIDEOS}
    reasons = [row["reason"] for row in production.desk.rows(production.name).values()]
    assert all(words in reason for reason in reasons), reasons
    unpaid = [reason for reason in reasons if "nothing was spent on it; fix this" in reason]
    assert len(unpaid) == VIDEOS - paid
    assert sum("running again fetches it free" in reason for reason in reasons) == paid


@pytest.mark.safeguard(
    "tasks/engine/deliver.py", 'blocks = f"{unusable}; {unusable.remedy}"', "pass"
)
def test_a_folder_that_breaks_stops_the_spending(one_by_one: Production) -> None:
    process = one_by_one.start()
    one_by_one.waits_for(lambda: one_by_one.count("reserve") > 0)
    with replaced_by_a_file(one_by_one):
        run = ended(process)

    stopped_paying(one_by_one, run, "videos cannot be written to")
    one_by_one.ends_well()


@contextmanager
def replaced_by_a_file(production: Production) -> Iterator[None]:
    """Have a file where the folder of the videos was: nobody can write there, not even root."""
    aside = production.store.with_name("aside")
    production.store.rename(aside)
    production.store.write_text("")
    try:
        yield
    finally:
        production.store.unlink()
        aside.rename(production.store)


@pytest.mark.safeguard("tasks/store/bucket.py", "if self._abilities is not None:", "if False:")
def test_a_bucket_that_breaks_stops_the_spending(one_by_one: Production) -> None:
    broken = False

    async def trouble(request, body, forward):
        nonlocal broken
        broken = broken or (request.method == "PUT" and request.path.endswith(".mp4"))
        if broken:
            return refusal(403, "SignatureDoesNotMatch")
        return await checking(request, body, forward)

    with moto_s3() as moto, troubled(moto, trouble) as proxy:
        one_by_one.desk.environ |= proxy.server.environment()
        one_by_one.desk.environ["CALLSHEET_STORE"] = f"{moto.address}/out"
        run = ended(one_by_one.start())

        stopped_paying(one_by_one, run, "the store does not accept the secret key")
        proxy.trouble = checking
        one_by_one.ends_well(lambda uri: moto.read(uri.removeprefix(f"{moto.address}/")))
