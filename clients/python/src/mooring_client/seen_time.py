"""The time by which the client decides whether it may start offline (docs/clients.md#the-7-days-and-the-clock)."""

from __future__ import annotations

import threading

from .clock import Clock
from .state import StoredTime
from .time_text import format_time, parse_time, representable


class SeenTime:
    """Time that does not depend on the wall clock alone, because the user can set it.

        now = max(wall clock - clock_ahead, highest time seen + running time since)

    If the user sets the clock back before every start, only the time during which the application runs counts. A clock that is
    ahead does no harm: each confirmation measures the difference to the service's clock. A clock that is behind is not
    compensated for.
    """

    def __init__(self, clock: Clock, stored: StoredTime) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ahead = max(0.0, stored.clock_ahead_seconds * 1000)
        self._measured_at = clock.monotonic()
        highest = parse_time(stored.highest_seen)
        self._highest = representable(clock.now() - self._ahead if highest is None else highest)

    def now(self) -> float:
        """Milliseconds since 1970; never less than in an earlier call, unless a confirmation came between them."""
        with self._lock:
            return self._now()

    def at_least(self, milliseconds: float) -> None:
        """Sets a lower limit of `now`: the time at which the service issued a token."""
        with self._lock:
            self._highest = representable(max(self._highest, milliseconds))

    def confirm(self, server_time_ms: float) -> None:
        """Replaces all times seen before by the `server_time` of a confirmation."""
        with self._lock:
            self._measured_at = self._clock.monotonic()
            self._ahead = max(0.0, self._clock.now() - server_time_ms)
            self._highest = representable(server_time_ms)

    def to_stored(self) -> StoredTime:
        """The values to store, measured now."""
        with self._lock:
            highest = self._now()
            return StoredTime(format_time(highest), self._ahead / 1000)

    def _now(self) -> float:
        measured = self._clock.monotonic()
        self._highest += max(0.0, measured - self._measured_at)
        self._measured_at = measured
        wall = self._clock.now()
        # A clock that was set back is less far ahead than before. With the old value, only running time would count from now on.
        self._ahead = min(self._ahead, max(0.0, wall - self._highest))
        self._highest = representable(max(self._highest, wall - self._ahead))
        return self._highest
