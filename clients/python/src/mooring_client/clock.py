"""The clock and the timers of the client, which a test can replace."""

from __future__ import annotations

import heapq
import itertools
import sys
import threading
import time
from typing import Callable, Dict, List, Optional, Protocol, Tuple

Work = Callable[[], object]

_LONGEST_WAIT_SECONDS = 300.0
"""On some systems a wait does not count the time that the computer sleeps, so the timers read the clock at least this often."""


class Clock(Protocol):
    """The time of this computer."""

    def now(self) -> float:
        """The wall clock, in milliseconds since 1970. The user can set it to anything."""
        ...

    def monotonic(self) -> float:
        """Milliseconds that only increase while the process runs. On some systems they stop while the computer sleeps."""
        ...


class Timers(Protocol):
    """Calls work later, in another thread."""

    def set(self, work: Work, milliseconds: float) -> object:
        """Calls `work` once after this time, and returns a timer. Must not keep the process alive."""

    def clear(self, timer: object) -> None:
        """Ends a timer. An ended one, or None, has no effect."""

    def end(self) -> None:
        """Ends all timers. No timer can be set afterwards."""


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> float:
        return time.time() * 1000

    def monotonic(self) -> float:
        return monotonic_seconds() * 1000


def _monotonic_clock() -> Callable[[], float]:
    """Returns the clock that continues while the computer sleeps. `time.monotonic` stops on Linux and macOS."""
    if sys.platform == "win32":
        return time.monotonic
    name = {"darwin": "CLOCK_MONOTONIC_RAW", "linux": "CLOCK_BOOTTIME"}.get(sys.platform, "")
    clock: Optional[int] = getattr(time, name, None)
    if clock is None:
        return time.monotonic
    try:
        time.clock_gettime(clock)
    except OSError:  # The system, such as a sandbox, does not have this clock.
        return time.monotonic
    return lambda: time.clock_gettime(clock)


monotonic_seconds = _monotonic_clock()


class _Timer:
    def __init__(self, work: Work) -> None:
        self.work: Optional[Work] = work


class ThreadTimers:
    """Calls all work in one daemon thread, which is started with the first timer and ended by `end`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: List[Tuple[float, int, _Timer]] = []
        self._numbers = itertools.count()
        self._thread: Optional[threading.Thread] = None
        self._is_ended = False

    def set(self, work: Work, milliseconds: float) -> object:
        timer = _Timer(work)
        with self._changed:
            heapq.heappush(self._due, (monotonic_seconds() + milliseconds / 1000, next(self._numbers), timer))
            if self._thread is None and not self._is_ended:
                self._start_thread()
            self._changed.notify()
        return timer

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="mooring-client", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The system allows no further thread. The next timer tries again: an error here would end the start of the application.
            return
        self._thread = thread

    def clear(self, timer: object) -> None:
        if isinstance(timer, _Timer):
            timer.work = None

    def end(self) -> None:
        """Ends the thread after the work that it runs."""
        with self._changed:
            self._is_ended = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            timer = self._next()
            if timer is None:
                return
            work, timer.work = timer.work, None
            if work is not None:
                work()

    def _next(self) -> Optional[_Timer]:
        with self._changed:
            while not self._is_ended:
                if not self._due:
                    self._changed.wait()
                    continue
                remaining = self._due[0][0] - monotonic_seconds()
                if remaining <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(min(remaining, _LONGEST_WAIT_SECONDS))
        return None


class NamedTimers:
    """Keeps at most one timer for each name. After `end` no timer can be set."""

    def __init__(self, timers: Timers, log: Callable[[str], None]) -> None:
        self._timers = timers
        self._log = log
        self._lock = threading.Lock()
        self._timers_by_name: Dict[str, object] = {}
        self._is_ended = False

    def set(self, name: str, work: Work, milliseconds: float) -> None:
        """Sets a timer, which replaces an earlier one of the same name."""
        with self._lock:
            self._timers.clear(self._timers_by_name.pop(name, None))
            if not self._is_ended:
                self._timers_by_name[name] = self._timers.set(lambda: self._call(work), milliseconds)

    def clear(self, name: str) -> None:
        with self._lock:
            self._timers.clear(self._timers_by_name.pop(name, None))

    def end(self) -> None:
        with self._lock:
            self._is_ended = True
            self._timers_by_name.clear()
            self._timers.end()

    def _call(self, work: Work) -> None:
        # No caller catches the errors of work that a timer starts, nor `sys.exit` of a callback: they would end the thread of the
        # timers.
        try:
            work()
        except BaseException:
            self._log("a call in the background failed")
