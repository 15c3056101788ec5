"""A computer with one state file and one clock, whose application talks to the misbehaving service through real sockets."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional, TypeVar

from mooring_client import MooringClient, Ports, Status, UpdateCheck

from .exchange import Received
from .fake_time import FakeTime
from .misbehaving_service import MACHINE_ID, MisbehavingService

KEY = "MOOR_E6S7-Z8KJ-TB3R-QKX6"
EMAIL = "buyer@example.com"
_ANSWER_TIMEOUT_SECONDS = 60.0

Result = TypeVar("Result")


class Attempt:
    """A call of the client, also one that did not reach the service."""

    def __init__(self, path: str, when: float, awake: float, status: str, is_user_initiated: bool) -> None:
        self.path = path
        self.when = when
        """The time of the monotonic clock."""
        self.awake = awake
        """`when` minus the time asleep, for checks of pauses: a sleeping computer cannot call."""
        self.status = status
        """The status of the application at that time."""
        self.is_user_initiated = is_user_initiated
        """Whether the client made it while it handled a click of the user."""
        self.received: Optional[Received] = None


class Computer:
    """A computer with a client, a service of its own and a clock that may be wrong. `close` ends client and service."""

    def __init__(self) -> None:
        self.time = FakeTime()
        self.skew = 0.0
        """Milliseconds by which the user's clock is ahead of the true time."""
        self.slept = 0.0
        """Milliseconds of the monotonic time during which the computer slept."""
        self.folder = Path(tempfile.mkdtemp(prefix="mooring-client-"))
        self.state_file = self.folder / "license.json"
        self.remote = MisbehavingService(lambda: self.true_time)
        self.attempts: List[Attempt] = []
        self.log: List[str] = []
        self.states: List[Status] = []
        self.client: MooringClient
        self._is_user_initiated = False
        self._received = 0

    @property
    def true_time(self) -> float:
        """The time that the service uses unless its clock is wrong."""
        return self.time.wall - self.skew

    def open(
        self,
        app_version: str = "3.1.0",
        environment: Optional[Mapping[str, str]] = None,
        telemetry: Optional[Callable[[], Mapping[str, object]]] = None,
        random: Callable[[], float] = lambda: 0.5,
        on_update_check: Optional[Callable[[UpdateCheck], object]] = None,
        machine_id: Callable[[], str] = lambda: MACHINE_ID,
    ) -> Status:
        """Starts the application."""
        self.client = MooringClient(
            base_url=self.remote.url,
            app="EXAMPLE",
            product="com.example.app",
            app_version=app_version,
            trusted_keys=[self.remote.key.x],
            token_keys=[self.remote.token_key.x],
            state_file=self.state_file,
            telemetry=telemetry,
            on_state_change=self.states.append,
            on_update_check=on_update_check,
            log=self.log.append,
            ports=Ports(
                clock=self.time,
                timers=self.time,
                wait=self._wait,
                environment=environment or {},
                random=random,
                machine_id=machine_id,
            ),
        )
        return self.client.start()

    def activate(self, key: str = KEY, email: str = EMAIL) -> Status:
        """The user clicks Activate."""
        return self._click(lambda: self.client.activate(key, email, "Studio Mac"))

    def retry(self) -> Status:
        """The user clicks Retry."""
        return self._click(lambda: self.client.heartbeat_now())

    def check_for_update(self) -> UpdateCheck:
        """The user clicks the menu item."""
        return self._click(lambda: self.client.check_for_update())

    def restart(self) -> Status:
        return self.restart_after(0)

    def restart_after(self, milliseconds: float) -> Status:
        """Quits the application, lets this time pass, and starts it again. The monotonic clock does not count this time."""
        self.client.close()
        self.time.wall += milliseconds
        return self.open()

    def kill(self) -> None:
        """Kills the application between two calls."""
        self.time.end()

    def set_clock(self, skew: float) -> None:
        """The user sets the clock to this many milliseconds ahead of the true time."""
        self.time.wall += skew - self.skew
        self.skew = skew

    def sleep(self, milliseconds: float, is_monotonic_clock_running: bool) -> None:
        """Lets the computer sleep. The wall clock runs on; the monotonic clock stops on some systems, and continues on others."""
        self.time.wall += milliseconds
        if is_monotonic_clock_running:
            self.time.elapsed += milliseconds
            self.slept += milliseconds
            self.time.advance(0)

    def close(self) -> None:
        self.client.close()
        self.remote.refuse()
        shutil.rmtree(self.folder)

    def calls(self, path: str) -> List[Attempt]:
        """The attempts of a path."""
        return [attempt for attempt in self.attempts if attempt.path == path]

    def _click(self, work: Callable[[], Result]) -> Result:
        self._is_user_initiated = True
        try:
            return work()
        finally:
            self._is_user_initiated = False

    def _wait(self, path: str, ended: threading.Event, seconds: float) -> bool:
        """Waits for the end of a call. If the service does not continue its answer, time advances to the timeout."""
        now = self.time.elapsed
        attempt = Attempt(path, now, now - self.slept, self.client.status.kind, self._is_user_initiated)
        self.attempts.append(attempt)
        end = time.monotonic() + _ANSWER_TIMEOUT_SECONDS
        while not ended.wait(0.002):
            if self.remote.stalled.is_set():
                self.time.move(seconds * 1000)
                break
            if time.monotonic() > end:
                raise AssertionError(f"the call of {path} has no end")
        self.remote.stalled.clear()
        # A request is recorded before its answer begins, and calls do not overlap.
        if len(self.remote.received) > self._received:
            attempt.received = self.remote.received[-1]
        self._received = len(self.remote.received)
        return ended.is_set()


def bodies(attempts: List[Attempt]) -> List[Dict[str, object]]:
    """The bodies of the requests that the service received."""
    return [attempt.received.body for attempt in attempts if attempt.received is not None]
