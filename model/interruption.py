"""Ctrl-C, taken as a wish: what is under way is finished first."""

import signal
import threading
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any


class Interruption(AbstractContextManager["Interruption"]):
    """While entered, Ctrl-C asks to stop when the update is done; pressed again it stops at once.

    Attributes:
        asked: whether it was pressed.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.asked = False
        self._usual: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():  # no other may set handlers
            self._usual = {each: signal.signal(each, self._ask) for each in self.SIGNALS}
        return self

    def __exit__(self, *exception: object) -> None:
        for each, handler in self._usual.items():
            signal.signal(each, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
