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

import imageio_ffmpeg

from callsheet.deployments.sandbox.mp4.video_plan import ClipSource, Scene, VideoPlan

#: They come along, so a bare machine without any font still writes words.
FONTS = Path(__file__).parent / "fonts"
REGULAR, BOLD = "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"
LONGEST = 600
MOST_LINES = 7


def command(plan: VideoPlan, output: Path, *, folder: Path) -> list[str]:
    """Give the command that leaves the video in `output`, to be run in `folder`.

    What the video says is written into files there: no text has to be quoted for ffmpeg.
    """
    for font in (REGULAR, BOLD):
        shutil.copy(FONTS / font, folder)
    return [
        imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-nostdin", "-y",
        *_ground(plan), "-f", "lavfi", "-i", _sound(plan), *_face(plan.clip),
        "-filter_complex", _pictures(plan, folder), "-map", "[out]", "-map", "1:a",
        *_codec(plan), "-c:a", "aac", "-b:a", "96k", "-ac", "2", "-t", str(plan.duration),
        "-metadata", f"comment={plan.id} render {plan.render}",
        "-movflags", "+faststart", "-f", "mp4", str(output),
    ]  # fmt: skip


def _codec(plan: VideoPlan) -> list[str]:
    """Begin every scene with a picture of its own and let the encoder remember nothing over it.

    With a constant quantizer, no look-ahead and no pictures predicted from later ones, the bits
    of a scene follow from its frames alone: a regenerated scene leaves the others as they were.
    """
    # Half a frame early: rounding must not move a key picture to the frame after.
    firsts = [(_frames(plan, scene).start - 0.5) / plan.frames_per_second for scene in plan.scenes]
    return [
        "-c:v", "libx264", "-preset", "superfast", "-qp", "24", "-pix_fmt", "yuv420p",
        "-bf", "0", "-x264-params", "scenecut=0:rc-lookahead=0:mbtree=0:weightp=0",
        "-force_key_frames", ",".join(f"{max(0.0, first):.4f}" for first in firsts),
        "-forced-idr", "1", "-threads", "1",
    ]  # fmt: skip


def _frames(plan: VideoPlan, scene: Scene) -> range:
    """Say which frames of the video show a scene, counted from 0."""
    rate = plan.frames_per_second
    return range(math.ceil(scene.start * rate), math.ceil(scene.end * rate))


def _sound(plan: VideoPlan) -> str:
    hum = (130 + plan.seed % 12 * 11) * math.tau
    tone = zlib.crc32(plan.voice.encode()) / 2**32 if plan.voice else 0.0
    wave = f"0.2*sin({hum:.2f}*t)+0.2*exp(-5*mod(t,0.5))*sin({2200 * (1 + tone):.3f}*t)"
    return f"aevalsrc=exprs='{wave}':s=24000:d={plan.duration}"


def _ground(plan: VideoPlan) -> list[str]:
    if plan.clip is not None and plan.clip.is_ground:
        return ["-i", str(plan.clip.picture)]
    width, height = plan.size
    hue = plan.seed * 0.61803398875
    colors = (_color(hue + turn, light) for turn, light in ((0.0, 0.2), (0.08, 0.5), (0.17, 0.75)))
    stops = ":".join(f"c{number}={color}" for number, color in enumerate(colors))
    size = f"s={width}x{height}:r={plan.frames_per_second}:d={plan.duration}"
    return ["-f", "lavfi", "-i", f"gradients={size}:n=3:{stops}:seed={plan.seed}:speed=0.02"]


def _color(hue: float, light: float) -> str:
    parts = colorsys.hsv_to_rgb(hue % 1.0, 0.7, light)
    return "0x" + "".join(f"{round(part * 255):02x}" for part in parts)


def _face(clip: ClipSource | None) -> list[str]:
    return ["-i", clip.picture] if clip is not None and clip.picture and not clip.is_ground else []


def _pictures(plan: VideoPlan, folder: Path) -> str:
    """Write the filters: the ground, a face on it where a photo came along, and the words."""
    width, height = plan.size
    ground, rate, face = "null", plan.frames_per_second, ""
    if plan.clip is not None and plan.clip.is_ground:
        frames = plan.duration * rate
        middle = "x='iw/2-iw/zoom/2':y='ih/2-ih/zoom/2'"
        closer = f"zoompan=z='1+0.3*on/{frames}':{middle}:d={frames}:s={width}x{height}:fps={rate}"
        ground = f"{_filled(2 * width, 2 * height)},{closer}"
    elif plan.clip is not None and plan.clip.picture:
        side = round(min(plan.size) * 0.35)
        place = "x='(W-w)/2+W*0.15*sin(1.3*t)':y='H*0.46-h/2'"
        face = f"[ground];[2:v]{_filled(side, side)}[face];[ground][face]overlay={place}"
    return f"[0:v]{ground}{face},{','.join(_words(plan, folder))}[out]"


def _filled(width: int, height: int) -> str:
    grown = "force_original_aspect_ratio=increase"
    return f"scale={width}:{height}:{grown},crop={width}:{height},format=yuv420p"


def _words(plan: VideoPlan, folder: Path) -> list[str]:
    """Write every text of the video into a file; give the filters that show them."""
    width, captions = plan.size[0], plan.captions
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

    top, middle = ("h*0.55", "h*0.14") if captions.position == "top" else ("h*0.14", "h*0.55")
    text(plan.title, 26, top, fontfile=BOLD)
    text(plan.topic or (plan.clip.source if plan.clip else ""), 14, "h-56")
    text(f"{plan.id}  {plan.language}  {plan.aspect_ratio}", 11, "h-24")
    for scene in plan.scenes:
        label = f"scene {scene.number} / {len(plan.scenes)}"
        if plan.clip is not None:
            label = plan.clip.operation.replace("-", " ")
        again = f" (take {scene.take + 1})" if scene.take else ""
        frames = _frames(plan, scene)
        text(f"{label}{again}".upper(), 13, "14", when=frames)
        if captions.enabled and scene.narration:
            size, font = (
                18 if len(scene.narration) < 160 else 13,
                BOLD if captions.bold else REGULAR,
            )
            color = captions.color.replace("#", "0x")
            text(scene.narration, size, middle, when=frames, fontfile=font, fontcolor=color)
    return shown


def plain(text: str) -> str:
    """Make text safe to draw: composed letters, no control characters, one line, not endless."""
    composed = unicodedata.normalize("NFC", text)
    kept = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in composed)
    words = " ".join(kept.split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
