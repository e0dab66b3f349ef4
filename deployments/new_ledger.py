"""Says that a ledger is about to be made: a new one knows nothing of videos that were paid for."""

from __future__ import annotations

from callsheet.tasks.ledger.database import ledger_file, ledger_url
from callsheet.tasks.runtime.home import make_home
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.redact import say

_MADE_ELSEWHERE = (
    "videos made with another ledger are found only if the service still lists them. To use "
    "that ledger, run in its folder or set CALLSHEET_LEDGER"
)


def prepare_ledger(settings: Settings, *, sandbox: bool = False) -> None:
    """Make the folder that Callsheet keeps its files in, and say so if the ledger will be new.

    Raises ConfigurationError when the folder cannot be made.
    """
    file = ledger_file(ledger_url(settings.ledger))
    is_new = file is not None and not file.exists()
    made = make_home(settings.home)
    if is_new and not sandbox:
        say(f"creating a new ledger, {file}: {_MADE_ELSEWHERE}")
    elif made:
        say(f"created {settings.home} for the ledger and other files")
