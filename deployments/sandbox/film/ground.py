"""Owns what is behind the words of a scene: a painted backdrop, or the caller's own picture."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageOps

from deployments.sandbox.film.backdrop import DRIFT, backdrop
from deployments.sandbox.film.lettering import font, plain
from deployments.sandbox.film.plan import FilmPlan
from deployments.sandbox.script import Scene


def ground_of(plan: FilmPlan, scene: Scene) -> Image.Image:
    """Give the ground of one scene, larger than the picture so that the camera can move."""
    if plan.clip is not None and plan.clip.operation == "image-to-video":
        return _photograph(plan, scene)
    return backdrop(plan.size, seed=plan.seed, scene=scene.number, take=scene.take)


def _photograph(plan: FilmPlan, scene: Scene) -> Image.Image:
    assert plan.clip is not None
    if plan.clip.picture is not None:
        size = (round(plan.size[0] * DRIFT), round(plan.size[1] * DRIFT))
        with Image.open(plan.clip.picture) as picture:
            return ImageOps.fit(picture.convert("RGB"), size, Image.Resampling.BICUBIC)
    # Nothing is fetched: an address is shown as a print with its name on it.
    ground = backdrop(plan.size, seed=plan.seed, scene=scene.number, take=scene.take)
    draw = ImageDraw.Draw(ground)
    wide = round(min(ground.size) * 0.6)
    left, top = (ground.width - wide) // 2, round((ground.height - wide) * 0.55)
    draw.rectangle((left, top, left + wide, top + wide), (240, 238, 232))
    inner = (left + 10, top + 10, left + wide - 10, top + wide - 34)
    ground.paste((96, 112, 130), inner)
    draw.polygon(
        [(inner[0], inner[3]), (left + wide * 0.4, top + wide * 0.35), (inner[2], inner[3])],
        (60, 74, 90),
    )
    draw.ellipse((inner[2] - 60, inner[1] + 14, inner[2] - 22, inner[1] + 52), (250, 214, 120))
    name = plain(plan.clip.source.rsplit("/", 1)[-1], 28)
    middle = (left + wide / 2, top + wide - 17)
    draw.text(middle, name, (40, 40, 46), font(13), anchor="mm")
    return ground
