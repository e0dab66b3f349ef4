"""The README's picture of the board: the demo's videos, some of them decided on.

python -m tests.board.readme_picture     makes docs/board.png anew; half a minute
"""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.async_api import Page, expect

from tests.browser import open_browser
from tests.programs import ROOT, Desk

PICTURE = ROOT / "docs" / "board.png"
DEMO = ROOT / "configs" / "campaigns" / "spring-launch.csv"
SIZE = {"width": 1360, "height": 850}
#: So few colours are enough, and make a small file.
COLOURS = 160


def main() -> None:
    """Make the demo's videos, look at them as a person does, and keep what is seen."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        shutil.copy(DEMO, folder)
        ended = desk.run(DEMO.name, "--sandbox", "--budget", "400")
        assert ended.status == 0, ended.err
        board = desk.start("board", "--port", "0", "--json")
        try:
            seen = asyncio.run(_look(json.loads(board.stdout.readline())["login"]))
        finally:
            board.terminate()
            board.communicate()
    picture = Image.open(io.BytesIO(seen)).convert("RGB")
    few = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


async def _look(login: str) -> bytes:
    async with open_browser() as browser:
        page = await browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        await page.goto(login)
        await page.goto(f"{page.url}c/{DEMO.stem}/videos")
        await _decide(page)
        await page.mouse.move(0, 0)
        await page.wait_for_load_state("networkidle")
        return await page.screenshot()


async def _decide(page: Page) -> None:
    """Keep some, reject one with a note, and be about to decide on the next."""
    for key in ("a", "a", "k", "k", "j", "j", "n"):
        await page.keyboard.press(key)
    await page.keyboard.type("It boils, it does not explain why.")
    await page.keyboard.press("Escape")
    for key in ("1", "a", "a"):
        await page.keyboard.press(key)
    await expect(page.locator("#which")).to_contain_text("Undecided 9")
    await page.wait_for_timeout(500)


if __name__ == "__main__":
    main()
