"""The rows that reference campaigns are put together from."""

from __future__ import annotations

from dataclasses import replace

from tests.torture.campaign import Row

TOOL = Row("tool", ",product-launch,Kettle,,Tool,5,9:16,both,,,", captions=("srt", "vtt"))
SCRIPT = Row("script", ",,,It hums.,Script,5,9:16,none,,,")
EDITED = Row("script", ",,,It hums in tune.,Script,5,9:16,none,,,")
VTT = Row("vtt", ",,,It never boils over.,Other,5,9:16,vtt,,,", captions=("vtt",))
REFUSED = Row("refused", ",product-launch,Kettle,,Refused,5000,9:16,,,,", "rejected")
DEAR = Row("dear", ",product-launch,Pot,,Dear,5,9:16,,,1,", "held")
CLIP = Row("clip", "image-to-video,,,,Clip,5,9:16,,https://img.example/{name}-a.png,50,", clip=True)
WRONG = Row(
    "wrong",
    "image-to-video,,,,Wrong,5,9:16,,https://img.example/{name}-b.png,50,blue",
    "rejected",
    clip=True,
)
#: The same rows with changes that edit their videos.
RETITLED = replace(SCRIPT, cells=SCRIPT.cells.replace("Script", "Another script"))
TOOL_RETITLED = replace(TOOL, cells=TOOL.cells.replace("Tool", "Another tool"))
REVOICED = replace(VTT, more=(("voice_id", "ben"),))
VOICED = replace(VTT, more=(("voice_id", "anna"),))
LATE = Row("late", ",,,It comes late.,Late,5,9:16,none,,,")


def was(row: Row, id: str, old: str) -> Row:
    """Return a row with a new id, which says that it had the old one."""
    return replace(row, id=id, more=(("was", old),))
