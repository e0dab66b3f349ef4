"""How loud a video is: some of its sound, decoded here and there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from av.audio.codeccontext import AudioCodecContext
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet

#: Places of a video that are listened to, and packets at each. The first of them is not counted:
#: a decoder that begins in the middle has yet to hear what comes before.
_PLACES, _PACKETS = 3, 2
#: Below this no sound can be heard (-60 dB of the loudest there is).
_SILENT = 0.001
#: Sound that comes so close to the loudest there is may have been cut off there.
_LOUD = 0.9
#: Packets that are decoded at most to hear something, and how many at once.
_MOST, _AT_ONCE = 20_000, 100


class Sound:
    """The loudest of all samples heard (of 1), and what part of them is at the very top."""

    def __init__(self, container: InputContainer, stream: AudioStream) -> None:
        self.loudest = 0.0
        self.at_top = 0.0
        self._heard: list[bytes] = []
        self._container, self._stream = container, stream
        self._decoder = _decoders().take(stream)

    @property
    def is_silent(self) -> bool:
        """Whether nothing that was heard can be heard."""
        return self.loudest < _SILENT

    def sample(self, path: Path) -> None:
        """Listen here and there; where there is nothing to hear, until there is something."""
        for packets in self._places(path):
            for number, packet in enumerate(packets):
                self._hear(packet, counted=number > 0)
        self._count()
        if self.is_silent:
            self._hear_all()
        _decoders().put_back(self._decoder)

    def _places(self, path: Path) -> Iterator[list[Packet[Any]]]:
        """Yield packets, read where the video's index says: nothing else is read for them."""
        from av.packet import Packet

        entries = self._stream.index_entries
        count = len(entries)
        with path.open("rb") as file:
            for place in range(_PLACES if count > _PLACES * _PACKETS else 0):
                first = round(count * (place + 0.5) / _PLACES)
                packets: list[Packet[Any]] = []
                for entry in (entries[first + more] for more in range(_PACKETS)):
                    file.seek(entry.pos)
                    packets.append(Packet(file.read(entry.size)))
                yield packets

    def _hear_all(self) -> None:
        """Listen from the beginning: words may be said between the places of before."""
        self._container.seek(0)
        for number, packet in enumerate(self._container.demux(self._stream)):
            if packet.size:
                self._hear(packet, counted=True)
            if number % _AT_ONCE == 0:
                self._count()
                if not self.is_silent or number > _MOST:
                    break
        self._count()

    def _hear(self, packet: Packet[Any], *, counted: bool) -> None:
        for frame in self._decoder.decode(packet):
            if counted:
                self._take(frame)

    def _take(self, frame: AudioFrame) -> None:
        if frame.format.name.startswith("flt"):
            self._heard += [bytes(plane) for plane in frame.planes]
            return
        from av.audio.resampler import AudioResampler

        for same in AudioResampler(format="fltp").resample(frame):
            self._take(same)

    def _count(self) -> None:
        from PIL import Image

        data, self._heard = b"".join(self._heard), []
        if not data:
            return
        samples = len(data) // 4
        # A picture of one line: Pillow looks at its points without a loop of ours.
        line = Image.frombuffer("F", (samples, 1), data, "raw", "F", 0, 1)
        lowest, highest = cast("tuple[float, float]", line.getextrema())
        loudest = max(-lowest, highest)
        self.loudest = max(self.loudest, loudest)
        if loudest >= _LOUD:
            # From -loudest..loudest to 1..255: one who codes sound may lower what was cut off.
            levels = (
                line.point(lambda level: level * (127 / loudest) + 128).convert("L").histogram()
            )
            self.at_top = max(self.at_top, (sum(levels[:5]) + sum(levels[252:])) / samples)


class _Decoders(threading.local):
    """The decoder of the last video that could be heard: the next one is most likely alike.

    To make one takes as long as to decode some fifty packets.
    """

    def __init__(self) -> None:
        #: What it was made of, before it was told more by the first packet.
        self._kind: object = None
        self._decoder: AudioCodecContext | None = None

    def take(self, stream: AudioStream) -> AudioCodecContext:
        """Return a decoder for a stream, of which it has heard nothing."""
        kind, found = _kind_of(stream), self._decoder
        self._decoder = None
        if found is None or kind != self._kind:
            found = stream.codec_context
            found.thread_count = 1
        self._kind = kind
        return found

    def put_back(self, decoder: AudioCodecContext) -> None:
        """Keep the decoder that was taken last, if nothing went wrong with it."""
        decoder.flush_buffers()
        self._decoder = decoder


@cache
def _decoders() -> _Decoders:
    return _Decoders()


def _kind_of(stream: AudioStream) -> object:
    """Return all that a decoder is made of."""
    made_of = stream.codec_context
    shape = made_of.sample_rate, made_of.layout.name, made_of.format and made_of.format.name
    return made_of.name, made_of.extradata, shape
