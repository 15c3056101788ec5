"""The clock rules, the timers and times as text."""

from __future__ import annotations

import sys
import threading
import time
import unittest
from typing import List, Optional
from unittest.mock import patch

from mooring_client import schedule
from mooring_client.clock import NamedTimers, SystemClock, ThreadTimers
from mooring_client.schedule import Confirmed, NotCalled, Unconfirmed
from mooring_client.seen_time import SeenTime
from mooring_client.state import StoredTime
from mooring_client.time_text import LATEST_MS, format_time, parse_retry_after, parse_time, representable

from .support.fake_time import HOUR, MINUTE, SECOND, START, FakeTime


def _seen_time(wall: float, highest: Optional[float], ahead: float = 0) -> "tuple[FakeTime, SeenTime]":
    """All arguments are seconds; `wall`, the clock, and `highest` count from START."""
    time = FakeTime()
    time.wall = START + wall * SECOND
    stored = None if highest is None else format_time(START + highest * SECOND)
    return time, SeenTime(time, StoredTime(stored, ahead))


class TheTimeSeen(unittest.TestCase):
    """docs/clients.md#the-7-days-and-the-clock"""

    def test_both_clocks(self) -> None:
        for wall, highest, ahead, now, ahead_then in [
            (100.0, None, 0.0, 100.0, 0.0),
            (100, None, 10, 90, 10),
            (100, None, -10, 100, 0),
            (100, 50, 0, 100, 0),
            (100, 50, 10, 90, 10),
            (100, 100, 0, 100, 0),
            # The clock was set back.
            (105, 100, 10, 100, 5),
            (90, 100, 10, 100, 0),
        ]:
            _, seen = _seen_time(wall, highest, ahead)
            stored = seen.to_stored()
            self.assertEqual(stored, StoredTime(format_time(START + now * SECOND), ahead_then), (wall, highest, ahead))

    def test_it_grows_by_running_time(self) -> None:
        """It grows by the time that the application runs, whatever the clock shows."""
        time, seen = _seen_time(100, 100)
        time.wall = START
        for elapsed, now in [(7, 107), (7, 107), (3, 107), (4, 108)]:
            time.elapsed = elapsed * SECOND
            self.assertEqual(seen.now(), START + now * SECOND)

    def test_a_clock_that_sleeps(self) -> None:
        """If the monotonic clock stops in sleep, the wall clock counts, unless it was set back."""
        time, seen = _seen_time(100, 100)
        time.wall += 8 * HOUR
        self.assertEqual(seen.now(), START + 100 * SECOND + 8 * HOUR)
        time.wall -= 8 * HOUR
        self.assertEqual(seen.now(), START + 100 * SECOND + 8 * HOUR)

    def test_a_confirmation_corrects_both_values(self) -> None:
        time, seen = _seen_time(100, 5_000)
        seen.confirm(START + 40 * SECOND)
        self.assertEqual(seen.to_stored(), StoredTime(format_time(START + 40 * SECOND), 60))
        time.move(1_000)
        self.assertEqual(seen.now(), START + 41 * SECOND)

    def test_limits(self) -> None:
        """The time is never before the token's `iat`, and never after the year 9999."""
        time, seen = _seen_time(100, 100)
        seen.at_least(START + 130 * SECOND)
        self.assertEqual(seen.now(), START + 130 * SECOND)
        time.wall = 1e17
        self.assertEqual(seen.to_stored().highest_seen, "9999-12-31T23:59:59.999Z")


class Texts(unittest.TestCase):
    """RFC 3339 times and `retry-after`"""

    def test_times(self) -> None:
        for text, milliseconds in [
            ("2026-11-20T13:00:00Z", START),
            ("2026-11-20T14:30:00+01:30", START),
            ("2026-11-20T11:30:00.1239Z", START - 90 * MINUTE + 123),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59.999Z", LATEST_MS),
        ]:
            self.assertEqual(parse_time(text), milliseconds, text)
        self.assertEqual([representable(-1), representable(LATEST_MS + 1.0)], [0, LATEST_MS])
        self.assertEqual(parse_time(format_time(LATEST_MS)), LATEST_MS)

    def test_other_texts(self) -> None:
        for value in [
            " 2026-11-20T13:00:00Z",
            "2026-11-20T13:00:00Z\n",
            "2026-11-20T13:00:00",
            "2026-11-20T13:00:00.1234567890Z",
            "2026-11-20T13:00:00+24:00",
            "2026-11-20T24:00:00Z",
            "2026-11-20T23:59:60Z",
            "2026-13-20T13:00:00Z",
            "2100-02-29T13:00:00Z",
            "٢٠٢٦-11-20T13:00:00Z",
            START,
            True,
            None,
        ]:
            self.assertIsNone(parse_time(value), value)

    def test_retry_after(self) -> None:
        for value, date, seconds in [
            ("120", None, 120),
            ("9" * 13, None, None),
            ("-1", None, None),
            ("１２", None, None),
            ("Fri, 20 Nov 2026 13:02:00 GMT", None, 120),
            ("Fri, 20 Nov 2026 13:02:00 GMT", "soon", 120),
            ("Sat, 20 Nov 2027 13:02:00 GMT", "Sat, 20 Nov 2027 13:00:00 GMT", 120),
            ("Mon, 31 Nov 2026 13:02:00 GMT", None, None),
            ("Fri, 20 Nov 2026 13:02:00 GMT+1", None, None),
            ("Friday, 20-Nov-26 13:02:00 GMT", None, None),
            ("Fri, 20 Nov 2026 14:02:00 +0100", None, None),
        ]:
            self.assertEqual(parse_retry_after(value, date, START), seconds, (value, date))


class Schedule(unittest.TestCase):
    """docs/clients.md#the-timers"""

    def test_bounds(self) -> None:
        for end, is_waiting, failures, low, high in [
            (NotCalled(), False, 0, 2.5 * MINUTE, 8 * MINUTE),
            (Confirmed(None), False, 0, 5.7 * HOUR, 6.3 * HOUR),
            (Confirmed(float("inf")), False, 0, 5.7 * HOUR, 6.3 * HOUR),
            (Confirmed(0), False, 0, 5.225 * HOUR, 5.775 * HOUR),
            (Confirmed(1e12), False, 0, 11.4 * HOUR, 12.6 * HOUR),
            (Unconfirmed(None), False, 1, 5.4 * HOUR, 6.6 * HOUR),
            (Unconfirmed(0), False, 1, MINUTE, 1.1 * MINUTE),
            (Unconfirmed(0), False, 2, 2 * MINUTE, 2.2 * MINUTE),
            (Unconfirmed(0), False, 99_999, HOUR, 1.1 * HOUR),
            (Unconfirmed(1e9), False, 1, 6 * HOUR, 6.6 * HOUR),
            (Unconfirmed(None), True, 1, 30 * SECOND, 37.5 * SECOND),
            (Unconfirmed(None), True, 3, 120 * SECOND, 150 * SECOND),
            (Unconfirmed(None), True, 99_999, 15 * MINUTE, 18.75 * MINUTE),
            (Unconfirmed(1e9), True, 1, 6 * HOUR, 7.5 * HOUR),
        ]:
            delays = [schedule.after_call_ms(end, is_waiting, failures, random) for random in (0.0, 1.0)]
            self.assertAlmostEqual(delays[0], low, 3, (end, failures))
            self.assertAlmostEqual(delays[1], high, 3, (end, failures))


class Timers(unittest.TestCase):
    """The timers of the system, in one thread"""

    def test_order_replacement_and_end(self) -> None:
        done, order, log = threading.Event(), list[str](), list[str]()
        timers = NamedTimers(ThreadTimers(), log.append)

        def fail() -> None:
            raise ValueError("anna@example.com")

        timers.set("replaced", lambda: order.append("replaced"), 0.5 * HOUR)
        timers.set("second", lambda: order.append("second"), 40)
        timers.set("replaced", lambda: order.append("first"), 1)
        timers.set("cleared", lambda: order.append("cleared"), 50)
        timers.clear("cleared")
        timers.set("fails", fail, 10)
        timers.set("exits", sys.exit, 20)
        timers.set("last", done.set, 60)
        self.assertTrue(done.wait(10))
        self.assertEqual((order, log), (["first", "second"], ["a call in the background failed"] * 2))
        timers.end()
        timers.set("late", lambda: order.append("late"), 0)
        self.assertEqual(order, ["first", "second"])

    def test_sleep(self) -> None:
        """A timer that became due while the computer slept runs soon after the wake-up."""
        slept, done, timers = [0.0], threading.Event(), ThreadTimers()
        with patch("mooring_client.clock.monotonic_seconds", lambda: time.monotonic() + slept[0]):
            with patch("mooring_client.clock._LONGEST_WAIT_SECONDS", 0.02):
                timers.set(done.set, HOUR)
                self.assertFalse(done.wait(0.1))
                slept[0] = 3_601
                self.assertTrue(done.wait(10))
        timers.end()

    @unittest.skipUnless(sys.platform == "linux", "the clock of Linux")
    def test_the_clock_of_linux(self) -> None:
        """The clock of the system counts the sleep."""
        with patch("time.clock_gettime", lambda clock: {time.CLOCK_BOOTTIME: 7.0}[clock]):
            self.assertEqual(SystemClock().monotonic(), 7_000)

    def test_a_system_without_threads(self) -> None:
        """If the thread cannot be started, the next timer starts it: an error would end the start of the application."""
        timers, first, second = ThreadTimers(), threading.Event(), threading.Event()
        with patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            timers.set(first.set, 0)
        timers.set(second.set, 0)
        self.assertTrue(first.wait(10) and second.wait(10))
        timers.end()

    def test_the_thread_does_not_keep_the_process_alive(self) -> None:
        started = threading.Event()
        names: List[threading.Thread] = []

        def work() -> None:
            names.append(threading.current_thread())
            started.set()

        timers = ThreadTimers()
        timers.set(work, 0)
        self.assertTrue(started.wait(10))
        self.assertTrue(names[0].daemon)
        timers.end()
        names[0].join(10)
        self.assertFalse(names[0].is_alive())
