"""Owns the sound of a film: a soft chord, and over it a plucked figure that stands in for the
voice. The seed of the film chooses the key; the voice chooses the pitch and pace of the figure."""

from __future__ import annotations

import zlib

# Nothing in it is above 1 kHz, and every sample costs time.
RATE = 24_000
SCALE = (0, 2, 4, 7, 9)
FIGURES = ((0, 2, 3, 4), (0, 3, 2, 4), (4, 3, 2, 0), (0, 2, 4, 3), (2, 0, 3, 4))


def sound(seed: int, duration: int, *, voice: str | None = None) -> str:
    """Write the ffmpeg source of one film's sound, `duration` seconds long."""
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
