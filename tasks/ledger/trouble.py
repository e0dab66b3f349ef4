"""Database errors as sentences that say what to do."""

from __future__ import annotations

from callsheet.tasks.errors import LedgerDamaged, LedgerError, LedgerFull, shorten


def trouble(error: Exception, address: str) -> LedgerError:
    """Return a database error as a sentence that says what to do."""
    words = " ".join(str(getattr(error, "orig", None) or error).split())
    low = words.lower()
    if "locked" in low or "lock timeout" in low:
        return LedgerError(
            f"the ledger {address} is locked by another program",
            remedy="let the other program finish (a backup, a database browser?), then run again",
        )
    if "disk is full" in low or "no space" in low:
        return LedgerFull(
            f"the disk of the ledger {address} is full; what was recorded before is safe",
            remedy="free some space, then run the same command again",
        )
    if getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_READONLY_DBMOVED":
        return LedgerError(
            f"the ledger {address} was replaced in the moment when it was opened",
            remedy="run the same command again",
        )
    if "readonly" in low or "read-only" in low:
        return LedgerError(
            f"the ledger {address} is read-only",
            remedy="give write access to the file and its folder"
            if not address.startswith("postgresql")
            else "give this user write access, and check that the server is not a standby",
        )
    if "not a database" in low or "malformed" in low:
        return LedgerDamaged(
            f"the ledger {address} is damaged or is not a ledger ({words})",
            remedy="restore it from a backup, or move it away: the same sheet derives the same "
            "keys, so videos already made are found again",
        )
    if "unable to open" in low:
        return LedgerError(
            f"the ledger {address} cannot be opened",
            remedy="set CALLSHEET_LEDGER to a file you may write to",
        )
    return LedgerError(
        f"the ledger {address} cannot be used: {shorten(words, 200)}",
        remedy="check CALLSHEET_LEDGER, and that its server is up",
    )
