"""A wall clock, a monotonic clock and timers that a test advances. A test can also set the wall clock, as a user can."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Callable, List

SECOND = 1000.0
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
START = datetime(2026, 11, 20, 13, tzinfo=timezone.utc).timestamp() * 1000


class _Timer:
    def __init__(self, work: Callable[[], object], due: float) -> None:
        self.work = work
        self.due = due


class FakeTime:
    """The clock and the timers of one computer. Work of a timer runs in the thread that advances the time."""

    def __init__(self) -> None:
        self.wall = START
        self.elapsed = 0.0
        """The monotonic clock."""
        self._pending: List[_Timer] = []

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.elapsed

    def set(self, work: Callable[[], object], milliseconds: float) -> object:
        timer = _Timer(work, self.elapsed + milliseconds)
        self._pending.append(timer)
        return timer

    def clear(self, timer: object) -> None:
        self._pending = [each for each in self._pending if each is not timer]

    def end(self) -> None:
        self._pending.clear()

    @property
    def pending(self) -> int:
        """The number of timers."""
        return len(self._pending)

    def advance(self, milliseconds: float) -> None:
        """Advances both clocks, and runs the timers that become due."""
        end = self.elapsed + milliseconds
        while True:
            due = [timer for timer in self._pending if timer.due <= end]
            if not due:
                return self.move(end - self.elapsed)
            timer = min(due, key=lambda each: each.due)
            self.move(timer.due - self.elapsed)
            self._pending.remove(timer)
            timer.work()

    def move(self, milliseconds: float) -> None:
        """Advances both clocks and runs no timer. A negative time, of a timer that became due during a sleep, has no effect."""
        if milliseconds > 0:
            self.wall += milliseconds
            self.elapsed += milliseconds
