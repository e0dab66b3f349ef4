"""`callsheet contact-sheet`: a campaign's videos on one sheet, to be sent to somebody."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from callsheet.deployments.commands.named_rows import check_select
from callsheet.deployments.commands.options import settings_of
from callsheet.deployments.commands.reading import campaign_of, reading
from callsheet.deployments.signals import run_command
from callsheet.deployments.terminal import console_for, plain, print_json
from callsheet.tasks.aftercare.contact_sheet import (
    MOST_IN_JPEG,
    SheetVideo,
    as_html,
    as_jpeg,
    videos_on_sheet,
)
from callsheet.tasks.aftercare.export import whole_file
from callsheet.tasks.aftercare.verify import Places
from callsheet.tasks.aftercare.video_pictures import Pictures
from callsheet.tasks.campaign.selection import parse_selection
from callsheet.tasks.errors import BadInput
from callsheet.tasks.plural import count
from callsheet.tasks.suggest import suggest

#: The letters that the sandbox's videos are written in: a system may have none.
LETTERING = Path(str(files("callsheet.deployments.sandbox.mp4"))) / "fonts" / "DejaVuSans.ttf"


def main(args: Namespace) -> int:
    """Write the sheet; contacts no service, and the store only where videos are in a bucket."""
    ending = Path(args.output).suffix.lower()
    if ending not in (".html", ".htm", ".jpg", ".jpeg"):
        raise BadInput(
            f"{args.output} is neither a page nor a picture", remedy="end it in .html or .jpg"
        )
    campaign, videos = run_command(_videos(args))
    if not videos:
        raise BadInput(
            f"{campaign} has no videos to show", remedy=f"`{suggest('rows', campaign)}` says why"
        )
    if ending in (".jpg", ".jpeg") and len(videos) > MOST_IN_JPEG:
        raise BadInput(
            f"{count(len(videos), 'video')} are too many for one picture",
            remedy="make a page (-o FILE.html), or choose some: --select tag:x",
        )
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    page = ending in (".html", ".htm")
    data = as_html(campaign, videos, made) if page else as_jpeg(campaign, videos, LETTERING)
    with whole_file(Path(args.output)) as out:
        out.write(data)
    words = f"{count(len(videos), 'video')} of {campaign} in {args.output} ({len(data)} bytes)"
    console_for(args).print(plain(words))
    if args.json:
        document = {"campaign": campaign, "videos": len(videos), "bytes": len(data)}
        print_json({**document, "file": args.output, "exit": 0})
    return 0


async def _videos(args: Namespace) -> tuple[str, list[SheetVideo]]:
    settings, chosen = settings_of(args), parse_selection(args.select)
    async with reading(args) as ledger, Places() as places:
        campaign = await campaign_of(ledger, args.campaign)
        await check_select(args, ledger, campaign)
        folder = settings.home / "board" / "pictures"
        pictures = Pictures(places, spool=settings.spool, folder=folder)
        return campaign.name, await videos_on_sheet(ledger, campaign, pictures, chosen)
