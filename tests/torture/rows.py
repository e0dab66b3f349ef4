"""The rows that reference campaigns are put together from."""

from __future__ import annotations

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
LATE = Row("late", ",,,It comes late.,Late,5,9:16,none,,,")
