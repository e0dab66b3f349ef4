"""Owns the pictures of a video, one after the other: moving background, card, colour bars, and a
bar along the bottom with a segment per scene.

Nothing of one scene is in the pictures of another: a scene can be made anew and the rest stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from PIL import Image, ImageDraw

from callsheet.deployments.sandbox.mp4.card import Card
from callsheet.deployments.sandbox.mp4.lettering import font
from callsheet.deployments.sandbox.mp4.scenery import draw_figure, drift, ground_of, palette, zoom
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan
from callsheet.deployments.sandbox.script import Scene

ENTRY = 0.45


def frames(plan: VideoPlan) -> Iterator[bytes]:
    """Draw the video, frame by frame, as raw RGB."""
    for scene in plan.scenes:
        ground = ground_of(plan, scene)
        dark = Image.new("RGB", plan.size, palette(plan.seed, 1).dark)
        card = Card(plan, scene)
        for index in frame_numbers(plan, scene):
            moment = index / plan.frames_per_second
            arrived = min(1.0, (moment - scene.start) / ENTRY)
            shown = _picture(ground, plan, moment)
            if arrived < 1.0 and scene is not plan.scenes[0]:
                shown = Image.blend(dark, shown, 0.25 + 0.75 * arrived)
            _lay_card(shown, card.at(moment), arrived)
            _furniture(shown, plan, moment)
            yield shown.tobytes()


def frame_numbers(plan: VideoPlan, scene: Scene) -> range:
    """Say which frames of the video show a scene, counted from 0."""
    rate = plan.frames_per_second
    last = scene is plan.scenes[-1]
    end = plan.duration * rate if last else math.ceil(scene.end * rate)
    return range(math.ceil(scene.start * rate), end)


def _picture(ground: Image.Image, plan: VideoPlan, moment: float) -> Image.Image:
    if plan.clip is None:
        return drift(ground, plan.size, seed=plan.seed, moment=moment)
    if plan.clip.operation == "image-to-video":
        return zoom(ground, plan.size, moment / plan.duration)
    shown = drift(ground, plan.size, seed=plan.seed, moment=moment)
    draw_figure(shown, plan, moment)
    return shown


def _lay_card(shown: Image.Image, sheet: Image.Image, arrived: float) -> None:
    if arrived >= 1.0:
        shown.paste(sheet, mask=sheet)
        return
    eased = 1 - (1 - arrived) ** 3
    faded = sheet.getchannel("A").point([round(level * eased) for level in range(256)])
    shown.paste(sheet, (0, round((1 - eased) * 18)), mask=faded)


def _furniture(shown: Image.Image, plan: VideoPlan, moment: float) -> None:
    draw = ImageDraw.Draw(shown)
    width, height = plan.size
    margin = round(min(plan.size) * 0.065)
    colours = palette(plan.seed, 1)
    for at, colour in enumerate(colours.bars):
        draw.rectangle((width * at // 7, 0, width * (at + 1) // 7, 5), colour)
    long, y = width - 2 * margin, height - margin
    for scene in plan.scenes:
        left = margin + long * scene.start / plan.duration
        right = margin + long * scene.end / plan.duration - (3 if len(plan.scenes) > 1 else 0)
        full = (moment - scene.start) / max(scene.end - scene.start, 0.001)
        if right - left < 2:
            continue
        draw.rectangle((left, y, right, y + 4), (70, 70, 78))
        if full > 0:
            reach = left + (right - left) * min(1.0, full)
            draw.rectangle((left, y, reach, y + 4), colours.accent)
    small = font(max(10, round(min(plan.size) * 0.030)))
    clock = f"{_clock(moment)} / {_clock(plan.duration)}"
    draw.text((margin, y - 6), clock, (235, 235, 240), small, anchor="ls")
    draw.text((width - margin, y - 6), plan.id, (200, 200, 210), small, anchor="rs")


def _clock(moment: float) -> str:
    return f"{int(moment) // 60}:{int(moment) % 60:02}"
