"""The verdict of a night in one line: the subject of its mail. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callsheet.tasks.credits import as_text, in_credits
from callsheet.tasks.notices.matters import longest
from callsheet.tasks.notices.values import CampaignFigures, Contents, Matter
from callsheet.tasks.plural import count

#: From so many nights on the subject says how long something has been waiting.
LONG = 3


def subject_of(contents: Contents) -> str:
    """Return the subject: the verdict, and before it how long the oldest matter has lasted."""
    nights = longest(contents.matters)
    urgent = f"Waiting for {nights} nights – " if nights >= LONG else ""
    return " ".join(f"{urgent}{verdict_of(contents)}".split())


def verdict_of(contents: Contents) -> str:
    """Return how it stands: videos ready, what needs a person, credits."""
    lines = told_of(contents)
    if len(lines) == 1:
        return f"{lines[0].name}: {', '.join(_of_one(lines[0], contents.matters))}"
    if not lines:
        rest = count(len(contents.lines), "campaign")
        what = f"{rest} as {'it was' if len(contents.lines) == 1 else 'they were'}"
        return f"Nothing to do: {what}" if contents.lines else "Nothing to do: no sheets"
    return f"{count(len(lines), 'campaign')}: {', '.join(_of_several(lines, contents))}"


def videos_of(lines: Iterable[CampaignFigures]) -> tuple[int, int]:
    """Return how many videos are ready, and of how many that are to be made."""
    made = [line for line in lines if line.outcome not in ("invalid", "set-aside")]
    return sum(line.ready for line in made), sum(line.total for line in made)


def told_of(contents: Contents) -> list[CampaignFigures]:
    """Return the campaigns that there is something to tell of."""
    return [line for line in contents.lines if _is_told(line, contents.matters)]


def _is_told(line: CampaignFigures, matters: Sequence[Matter]) -> bool:
    return line.outcome not in ("unchanged", "set-aside") or any(
        matter.sheet == line.sheet for matter in matters
    )


def _of_one(line: CampaignFigures, matters: Sequence[Matter]) -> list[str]:
    of = [matter for matter in matters if matter.sheet == line.sheet]
    titles = {matter.kind: matter.title for matter in of}
    said = []
    if line.total and "not-approved" not in titles:
        said.append(f"{line.ready:,} of {count(line.total, 'video')} ready")
    if line.needing:
        said.append(_need(line.needing))
    if line.under_way:
        said.append(f"{line.under_way:,} under way")
    if "not-approved" in titles:
        waiting = titles["not-approved"]
        said.append(waiting[:1].lower() + waiting[1:])
    if "invalid" in titles:
        said.append(f"{titles['invalid'].partition(' in ')[0]}, nothing was made")
    if "set-aside" in titles:
        said.append("set aside until the sheet changes")
    if line.charged or line.budget is not None:
        said.append(_credits(line))
    return said or ["nothing to do"]


def _of_several(lines: Sequence[CampaignFigures], contents: Contents) -> list[str]:
    ready, total = videos_of(lines)
    videos = sum(line.needing for line in lines)
    approvals = _of_kind(contents.matters, "not-approved")
    sheets = _of_kind(contents.matters, "invalid")
    said = [f"{ready:,} of {count(total, 'video')} ready"] if total else []
    if videos:
        said.append(_need(videos))
    if approvals:
        said.append(f"{count(approvals, 'approval')} to give")
    if sheets:
        said.append(f"{count(sheets, 'sheet')} to fix")
    return [*said, f"{in_credits(contents.charged)} in this run"]


def _of_kind(matters: Iterable[Matter], kind: str) -> int:
    return sum(matter.kind == kind for matter in matters)


def _need(videos: int) -> str:
    return f"{videos:,} {'needs' if videos == 1 else 'need'} you"


def _credits(line: CampaignFigures) -> str:
    if line.budget is None:
        return in_credits(line.charged)
    return f"{as_text(line.charged)} of {in_credits(line.budget)}"
