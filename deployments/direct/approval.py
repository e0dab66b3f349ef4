"""The question before a direct command spends credits or deletes something."""

from __future__ import annotations

from deployments.direct.session import Session
from deployments.terminal import consent


async def ask(at: Session, question: str, *, what: str) -> None:
    """Ask at the terminal, unless `--yes` answered beforehand.

    Raises SpendRefused for a no, and where nobody can be asked: `what` is then said not to be
    approved ("15 credits are", "to delete vid_1 is").
    """
    await consent(at.args, question, what=what)
