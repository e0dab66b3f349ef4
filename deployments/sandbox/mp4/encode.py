"""The command with which ffmpeg alone makes one video: a moving ground, the title, and each scene's
words while it plays.

The sound is a hum, and over it a plucked note that stands in for the voice: the seed of the video
chooses the first, the voice the second.
"""

from __future__ import annotations

import colorsys
import math
import shutil
import textwrap
import unicodedata
import zlib
from pathlib import Path

from callsheet.deployments.sandbox.mp4.script import Scene
from callsheet.deployments.sandbox.video import Video

#: They come along, so a bare machine without any font still writes words.
FONTS = Path(__file__).parent / "fonts"
REGULAR, BOLD = "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"
LONGEST = 600
MOST_LINES = 7
SIZES = {"9:16": (360, 640), "1:1": (480, 480), "16:9": (640, 360)}
QUIET = ("-hide_banner", "-loglevel", "error", "-y")


def command(plan: Video, output: Path, *, folder: Path) -> list[str]:
    """Give the command that leaves the video in `output`, to be run in `folder`.

    What the video says is written into files there: no text has to be quoted for ffmpeg.
    """
    # The sandbox says which package to install where it is missing: so it is imported late.
    import imageio_ffmpeg

    for font in (REGULAR, BOLD):
        shutil.copy(FONTS / font, folder)
    return [
        imageio_ffmpeg.get_ffmpeg_exe(), *QUIET, "-nostdin",
        *_gradients(plan), "-f", "lavfi", "-i", _sound(plan),
        "-filter_complex", f"[0:v]{','.join(_words(plan, folder))}[out]", "-map", "[out]",
        "-map", "1:a",
        *_codec(plan), "-c:a", "aac", "-b:a", "96k", "-ac", "2", "-t", str(plan.duration_seconds),
        "-metadata", f"comment={plan.id} render {plan.render}",
        "-movflags", "+faststart", "-f", "mp4", str(output),
    ]  # fmt: skip


def _codec(plan: Video) -> list[str]:
    """Begin every scene with a picture of its own and let the encoder remember nothing over it.

    With a constant quantizer, no look-ahead and no pictures predicted from later ones, the bits
    of a scene follow from its frames alone: a regenerated scene leaves the others as they were.
    """
    # Half a frame early: rounding must not move a key picture to the frame after.
    firsts = [(_frames(plan, scene).start - 0.5) / _rate(plan) for scene in plan.scenes]
    return [
        "-c:v", "libx264", "-preset", "superfast", "-qp", "24", "-pix_fmt", "yuv420p",
        "-bf", "0", "-x264-params", "scenecut=0:rc-lookahead=0:mbtree=0:weightp=0",
        "-force_key_frames", ",".join(f"{max(0.0, first):.4f}" for first in firsts),
        "-forced-idr", "1", "-threads", "1",
    ]  # fmt: skip


def _rate(plan: Video) -> int:
    """Move smoothly in a short video; a long one is made to be finished."""
    return 20 if plan.duration_seconds <= 60 else 12


def _frames(plan: Video, scene: Scene) -> range:
    """Say which frames of the video show a scene, counted from 0."""
    rate = _rate(plan)
    return range(math.ceil(scene.start * rate), math.ceil(scene.end * rate))


def _sound(plan: Video) -> str:
    hum = (130 + plan.number % 12 * 11) * math.tau
    tone = zlib.crc32(plan.voice_id.encode()) / 2**32 if plan.voice_id else 0.0
    wave = f"0.2*sin({hum:.2f}*t)+0.2*exp(-5*mod(t,0.5))*sin({2200 * (1 + tone):.3f}*t)"
    return f"aevalsrc=exprs='{wave}':s=24000:d={plan.duration_seconds}"


def _gradients(plan: Video) -> list[str]:
    width, height = SIZES[plan.aspect_ratio]
    hue = plan.number * 0.61803398875
    colors = (_color(hue + turn, light) for turn, light in ((0.0, 0.2), (0.08, 0.5), (0.17, 0.75)))
    stops = ":".join(f"c{number}={color}" for number, color in enumerate(colors))
    size = f"s={width}x{height}:r={_rate(plan)}:d={plan.duration_seconds}"
    return ["-f", "lavfi", "-i", f"gradients={size}:n=3:{stops}:seed={plan.number}:speed=0.02"]


def _color(hue: float, light: float, saturation: float = 0.7) -> str:
    parts = colorsys.hsv_to_rgb(hue % 1.0, saturation, light)
    return "0x" + "".join(f"{round(part * 255):02x}" for part in parts)


def _words(plan: Video, folder: Path) -> list[str]:
    """Write every text of the video into a file; give the filters that show them."""
    width, captions, style = (
        SIZES[plan.aspect_ratio][0],
        plan.caption_settings or {},
        plan.caption_style,
    )
    shown: list[str] = []

    def text(said: str, size: int, y: str, *, when: range | None = None, **look: str) -> None:
        letters = (width - 2 * (width // 15)) * 10 // (size * 6)
        lines = textwrap.wrap(plain(said), letters)[:MOST_LINES]
        (folder / f"{len(shown)}.txt").write_text("\n".join(lines), "utf-8")
        look = {"fontfile": REGULAR, "fontcolor": "white", **look, "fontsize": str(size)}
        look |= {"textfile": f"{len(shown)}.txt", "x": str(width // 15), "y": y}
        look |= {"box": "1", "boxcolor": "black@0.35", "boxborderw": "8", "line_spacing": "6"}
        if when is not None:
            look["enable"] = f"'gte(n,{when.start})*lt(n,{when.stop})'"
        shown.append("drawtext=expansion=none:" + ":".join("=".join(one) for one in look.items()))

    top, middle = (
        ("h*0.55", "h*0.14") if captions.get("position") == "top" else ("h*0.14", "h*0.55")
    )
    untitled = plan.tool or plan.kind.replace("-", " ").capitalize()
    text(plan.title or plan.topic or untitled, 26, top, fontfile=BOLD)
    text((plan.title and plan.topic) or _source(plan), 14, "h-56")
    text(f"{plan.id}  {plan.language}  {plan.aspect_ratio}", 11, "h-24")
    style = plan.caption_style
    font = BOLD if captions.get("bold", style == "bold") else REGULAR
    # Every named style has a light color of its own.
    named = _color(zlib.crc32(style.encode()) % 360 / 360, 1.0, 0.4) if style else "white"
    color = str(captions.get("color") or named).replace("#", "0x")
    for scene in plan.scenes:
        label = f"scene {scene.number} / {len(plan.scenes)}"
        if plan.kind != "video":
            label = plan.kind.replace("-", " ")
        again, when = f" (take {scene.take + 1})" if scene.take else "", _frames(plan, scene)
        text(f"{label}{again}".upper(), 13, "14", when=when)
        if captions.get("enabled", style != "none") and scene.narration:
            size = 18 if len(scene.narration) < 160 else 13
            text(scene.narration, size, middle, when=when, fontfile=font, fontcolor=color)
    return shown


def _source(plan: Video) -> str:
    """Say what a clip was made from: the last part of an address, and who is in it."""
    address, photos = plan.image or plan.clip or "", len(plan.photos or ())
    name = address.partition("?")[0].rstrip("/").rpartition("/")[2] or address
    source = "A picture of its own" if address.startswith("data:") else name
    if plan.kind != "character-swap":
        return source
    return f"{source}, with " + (
        f"{photos} photo(s)" if photos else f"character {plan.character_id}"
    )


def plain(text: str) -> str:
    """Make text safe to draw: composed letters, no control characters, one line, not endless."""
    composed = unicodedata.normalize("NFC", text)
    kept = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in composed)
    words = " ".join(kept.split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
