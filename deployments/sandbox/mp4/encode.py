"""Encodes a video with ffmpeg from frames, cards and sound.

The sound is a soft chord, and over it a plucked figure that stands in for the voice. The seed of
the video chooses the key; the voice chooses the pitch and pace of the figure.
"""

from __future__ import annotations

import contextlib
import math
import subprocess
import zlib
from collections.abc import Iterator

import imageio_ffmpeg
from PIL import Image, ImageColor, ImageDraw, ImageFont

from callsheet.deployments.sandbox.mp4.scenery import (
    Block,
    draw_figure,
    drift,
    fit,
    font,
    ground_of,
    palette,
    plain,
    width_of,
    zoom,
)
from callsheet.deployments.sandbox.mp4.video_plan import Scene, VideoPlan

# Nothing in it is above 1 kHz, and every sample costs time.
RATE = 24_000
SCALE = (0, 2, 4, 7, 9)
FIGURES = ((0, 2, 3, 4), (0, 3, 2, 4), (4, 3, 2, 0), (0, 2, 4, 3), (2, 0, 3, 4))


def encode(plan: VideoPlan, output: str) -> None:
    """Make the video and leave it in the file `output`."""
    ffmpeg = subprocess.Popen(_command(plan, output), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ffmpeg.stdin is not None
    # An encoder that gives up closes the pipe; its exit status tells, not the broken pipe.
    with contextlib.suppress(BrokenPipeError):
        for picture in frames(plan):
            ffmpeg.stdin.write(picture)
    _, complaint = ffmpeg.communicate()
    if ffmpeg.returncode:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["no word"]
        msg = f"ffmpeg stopped with status {ffmpeg.returncode}: {last[0]}"
        raise RuntimeError(msg)


def _command(plan: VideoPlan, output: str) -> list[str]:
    width, height = plan.size
    return [
        imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-nostdin", "-y",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
        "-r", str(plan.frames_per_second), "-i", "pipe:0",
        "-f", "lavfi", "-i", sound(plan.seed, plan.duration, voice=plan.voice),
        *_picture_codec(plan), "-c:a", "aac", "-b:a", "96k", "-ac", "2",
        "-t", str(plan.duration), "-metadata", f"comment={plan.id} render {plan.render}",
        "-movflags", "+faststart", "-f", "mp4", output,
    ]  # fmt: skip


def _picture_codec(plan: VideoPlan) -> list[str]:
    """Begin every scene with a picture of its own and let the encoder remember nothing over it.

    With a constant quantizer, no look-ahead and no pictures predicted from later ones, the bits
    of a scene follow from its frames alone: a regenerated scene leaves the others as they were.
    """
    rate = plan.frames_per_second
    firsts = [frame_numbers(plan, scene).start for scene in plan.scenes]
    # Half a frame early: rounding must not move a key picture to the frame after.
    keys = ",".join(f"{max(0.0, (first - 0.5) / rate):.4f}" for first in firsts)
    return [
        "-c:v", "libx264", "-preset", "superfast", "-qp", "24", "-pix_fmt", "yuv420p",
        "-bf", "0", "-x264-params", "scenecut=0:rc-lookahead=0:mbtree=0:weightp=0",
        "-force_key_frames", keys, "-forced-idr", "1", "-threads", "1",
    ]  # fmt: skip


def sound(seed: int, duration: int, *, voice: str | None = None) -> str:
    """Write the ffmpeg source of one video's sound, `duration` seconds long."""
    tone = zlib.crc32(voice.encode()) if voice else 0
    figure_seed = seed + tone
    # Within the octave above: any two voices differ, most of them by more than a semitone.
    lifted = 2 ** (1 + tone / 2**32)
    root = 130.81 * 2 ** ((seed * 5 % 12) / 12)
    chord = "+".join(
        f"{loud}*sin({_turn(root * 2 ** (step / 12))}*t)"
        for step, loud in ((0, 0.30), (7, 0.20), (16 if seed % 2 else 15, 0.14))
    )
    swell = "(0.75+0.25*sin(0.9*t))"
    beat = round(0.4 + 0.05 * (figure_seed % 4), 2)
    # Every note begins at phase zero and dies away, so that nothing clicks.
    steps = FIGURES[figure_seed % len(FIGURES)]
    notes = [_turn(lifted * root * 2 ** (SCALE[note] / 12)) for note in steps]
    pitch = f"if(lt(mod(t,{2 * beat:g}),{beat}),{{}},{{}})"
    early, late = pitch.format(notes[0], notes[1]), pitch.format(notes[2], notes[3])
    figure = f"if(lt(mod(t,{4 * beat:g}),{2 * beat:g}),{early},{late})"
    pluck = f"exp(-5*mod(t,{beat}))*sin(mod(t,{beat})*{figure})"
    wave = f"0.30*{swell}*({chord})+0.16*{pluck}"
    fades = f"afade=t=in:d=0.4,afade=t=out:st={max(0.0, duration - 0.8)}:d=0.8"
    return f"aevalsrc=exprs='{wave}':s={RATE}:d={duration},{fades}"


def _turn(frequency: float) -> str:
    return f"{6.283185307 * frequency:.4f}"


# Owns the pictures of a video, one after the other: moving background, card, colour bars, and a
# bar along the bottom with a segment per scene.
#
# Nothing of one scene is in the pictures of another: a scene can be made again and the rest stays.


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


# Owns the words over one scene: label, title, topic, and the narration that appears as it is
# spoken. A card is drawn once and then only gains words, because drawing all of it for every
# frame would cost more than encoding the video.


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
