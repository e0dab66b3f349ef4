"""Owns the words over one scene: label, title, topic, and the narration that appears as it is
spoken. A card is drawn once and then only gains words, because drawing all of it for every
frame would cost more than encoding the video."""

from __future__ import annotations

from PIL import Image, ImageColor, ImageDraw, ImageFont

from callsheet.deployments.sandbox.mp4.lettering import Block, fit, font, plain, width_of
from callsheet.deployments.sandbox.mp4.scenery import palette
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan
from callsheet.deployments.sandbox.script import Scene

WHITE = (255, 255, 255, 255)
FADED = 70
LABELS = {"image-to-video": "IMAGE TO VIDEO", "talking-avatar": "TALKING AVATAR",
          "character-swap": "CHARACTER SWAP"}  # fmt: skip
SPOKEN_BY = 0.82


class Card:
    """The words of one scene on a clear sheet."""

    def __init__(self, plan: VideoPlan, scene: Scene) -> None:
        self._scene = scene
        self._said = 0
        self._accent = palette(plan.seed, scene.number).accent
        self._ink = ImageColor.getrgb(plan.captions.color)[:3]
        self._bold = plan.captions.bold
        width, height = plan.size
        self._margin = round(min(plan.size) * 0.065)
        self._wide = width - 2 * self._margin
        self.sheet = Image.new("RGBA", plan.size, (0, 0, 0, 0))
        self._draw = ImageDraw.Draw(self.sheet)
        top, gap = self._labels(plan) + round(height * 0.03), round(height * 0.02)
        middle = round(height * (0.50 if height > width else 0.52))
        bottom = height - round(height * 0.13)
        spoken = plan.captions.enabled
        if plan.captions.position == "top":
            self._narration(top, middle, spoken=spoken)
            self._heading(plan, middle + gap, bottom - middle - gap)
        else:
            self._heading(plan, top, middle - gap - top)
            self._narration(middle, bottom, spoken=spoken)

    def at(self, moment: float) -> Image.Image:
        """Give the sheet as it is at this moment, with the words spoken so far in full white."""
        length = max(self._scene.end - self._scene.start, 0.001)
        share = (moment - self._scene.start) / (length * SPOKEN_BY)
        due = min(len(self._block.words), 1 + int(share * len(self._block.words)))
        for word in self._block.words[self._said : due]:
            place = (self._x + word.x, self._y + word.y)
            self._draw.text(place, word.text, (*self._ink, 255), self._font())
        self._said = max(self._said, due)
        return self.sheet

    def _labels(self, plan: VideoPlan) -> int:
        size = max(11, round(min(plan.size) * 0.034))
        high = round(size * 1.9)
        y = self._margin
        label = f"SCENE {self._scene.number} / {len(plan.scenes)}"
        if plan.clip is not None:
            label = LABELS[plan.clip.operation]
        self._chip(label, self._margin, y, size, high, fill=(*self._accent, 255), ink=(16, 16, 24))
        right = f"{plain(plan.language, 12).upper()}  ·  {plan.aspect_ratio}"
        x = plan.size[0] - self._margin - width_of(right, size, bold=True) - size
        self._chip(right, x, y, size, high, fill=(0, 0, 0, 110), ink=(255, 255, 255))
        return y + high

    def _chip(
        self, text: str, x: int, y: int, size: int, high: int,
        *, fill: tuple[int, int, int, int], ink: tuple[int, int, int],
    ) -> None:  # fmt: skip
        long = width_of(text, size, bold=True) + size
        self._draw.rounded_rectangle((x, y, x + long, y + high), high // 2, fill)
        middle = (x + long / 2, y + high / 2)
        self._draw.text(middle, text, ink, font(size, bold=True), anchor="mm")

    def _heading(self, plan: VideoPlan, top: int, room: int) -> None:
        unit = min(plan.size)
        sizes = range(round(unit * 0.098), 15, -2)
        second = plain(plan.topic) or plain(self._scene.visual)
        if plan.clip is not None:
            second = plain(plan.clip.source, 90)
        share = 0.66 if second else 1.0
        title = fit(
            plain(plan.title, 160), width=self._wide - 14, height=round(room * share),
            sizes=sizes, bold=True,
        )  # fmt: skip
        self._place(title, self._margin + 14, top, WHITE, bold=True)
        bottom = top + title.height
        edge = self._margin
        self._draw.rounded_rectangle((edge, top + 4, edge + 4, bottom - 2), 2, self._accent)
        topic = fit(
            second, width=self._wide - 14, height=room - title.height,
            sizes=range(round(unit * 0.045), 10, -1),
        )  # fmt: skip
        self._place(topic, self._margin + 14, bottom + 3, (255, 255, 255, 205))

    def _narration(self, top: int, bottom: int, *, spoken: bool) -> None:
        pad = round(self._margin * 0.7)
        self._block = fit(
            plain(self._scene.narration) if spoken else "", width=self._wide - 2 * pad,
            height=bottom - top - 2 * pad, sizes=range(round(self._margin * 1.25), 10, -1),
            bold=self._bold,
        )  # fmt: skip
        top = bottom - self._block.height - 2 * pad
        self._x, self._y = self._margin + pad, top + pad
        sheet = (self._margin, top, self._margin + self._wide, bottom)
        if self._block.words:
            self._draw.rounded_rectangle(sheet, 12, (0, 0, 0, 120))
            ink = (*self._ink, FADED)
            self._place(self._block, self._x, self._y, ink, bold=self._bold)

    def _font(self) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        return font(self._block.size, bold=self._bold)

    def _place(
        self, block: Block, x: int, y: int, ink: tuple[int, int, int, int], *, bold: bool = False
    ) -> None:
        for word in block.words:
            spot = (x + word.x, y + word.y)
            self._draw.text(spot, word.text, ink, font(block.size, bold=bold))
