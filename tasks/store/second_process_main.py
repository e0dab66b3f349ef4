"""The program of the second process: does what it is asked to, in threads, until no one asks.

    python -P -m callsheet.tasks.store.second_process_main HANDLE [armed]

HANDLE is its end of a socket.
Owns nothing that outlives it. Imports neither the service nor the ledger, lest it be large.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from queue import SimpleQueue

import av  # noqa: F401  (the first video does not wait for it)

from callsheet.tasks.runtime.crash_points import arm
from callsheet.tasks.store.folder import put_files
from callsheet.tasks.store.second_process import Answered, Asked, Frames, Passed, frame

#: Decoding keeps a core busy, writing waits for the disk: neither is to keep the other waiting.
_LOOKING, _WRITING = os.cpu_count() or 1, 16
_BLOCK = 256 * 1024


class Answering:
    """Orders from one socket, answers into it."""

    def __init__(self, asker: socket.socket) -> None:
        self._asker = asker
        self._sending = threading.Lock()
        self._passed: dict[int, threading.Event] = {}
        self._looking, self._writing = self._threads(_LOOKING), self._threads(_WRITING)

    def answer_all(self) -> None:
        """Do what is asked until the asker is gone."""
        frames = Frames()
        self._send(Answered(0, "done", None))
        while data := self._asker.recv(_BLOCK):
            for order in frames.take(data):
                if isinstance(order, Passed):
                    self._passed[order.number].set()
                else:
                    (self._writing if order.work is put_files else self._looking).put(order)

    def stop_at(self, name: str, _: object) -> None:
        """Tell the asker of a crash point, and go no further before it does."""
        number = threading.get_ident()
        passed = self._passed[number] = threading.Event()
        self._send(Answered(number, "point", name))
        passed.wait()

    def _threads(self, count: int) -> SimpleQueue[Asked]:
        """Start threads, and return what they take their orders from."""
        orders = SimpleQueue[Asked]()

        def work() -> None:
            while True:
                self._answer(orders.get())

        for _ in range(count):
            threading.Thread(target=work, daemon=True).start()
        return orders

    def _answer(self, order: Asked) -> None:
        # The asker gives each order so much time, counted from here.
        self._send(Answered(order.number, "begun", None))
        try:
            answer = Answered(order.number, "done", order.work(*order.given))
        except Exception as error:
            answer = Answered(order.number, "failed", error)
        self._send(answer)

    def _send(self, answer: Answered) -> None:
        try:
            data = frame(answer)
        except Exception:
            # Anyone who waits for it must not wait for ever.
            words = f"{type(answer.value).__name__}: {answer.value}"
            data = frame(Answered(answer.number, "failed", RuntimeError(words)))
        with self._sending:
            self._asker.sendall(data)


def main() -> None:
    """Answered until the asker is gone; this side never ends it."""
    for kind in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, kind):
            # They are for the asker, who may have videos to bring home before it ends.
            signal.signal(getattr(signal, kind), signal.SIG_IGN)
    try:
        answering = Answering(socket.socket(fileno=int(sys.argv[1])))
        if "armed" in sys.argv:
            arm(answering.stop_at)
        answering.answer_all()
    finally:
        # At once: nothing that is half done may go on when another run begins.
        os._exit(0)


if __name__ == "__main__":
    main()
