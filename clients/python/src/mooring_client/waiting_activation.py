"""Repeats an activation that the machine limit refused (docs/clients.md#a-full-license)."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Callable, Optional, Union

from . import schedule
from .clock import Clock, NamedTimers
from .license import Activation
from .license_key import read_license_key
from .problem import LicenseProblem, ServiceUnreachable
from .status import Status

_TIMER = "activation"


@dataclass
class WaitingActivation:
    """For ten minutes the user may release a machine at `release_url`, and need not click Activate again."""

    timers: NamedTimers
    clock: Clock
    activate: Callable[[Activation, Callable[[], bool]], Status]
    """Sends the request, unless it is no longer wanted when its turn comes."""
    _latest: Optional[Activation] = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def start(self, typed: Activation) -> Status:
        """Activates for a click on Activate. It reads the key as typed, and replaces an activation that is repeated.

        Raises the error of `activate`; without a request, a LicenseProblem for a text that is no license key.
        """
        self.cancel()
        activation = replace(typed, license_key=read_license_key(typed.license_key))
        with self._lock:
            self._latest = activation
        # Both clocks are compared: the monotonic clock may stop while the computer sleeps, and the user may set the wall clock.
        started = (self.clock.now(), self.clock.monotonic())
        try:
            return self.activate(activation, lambda: True)
        except LicenseProblem as problem:
            if _is_at_limit(problem):
                self._wait(activation, started, schedule.ACTIVATION_REPEAT_INTERVAL_MS)
            raise

    def cancel(self) -> None:
        """Ends the repetition, for example when the user closes the window in which they clicked Activate."""
        with self._lock:
            self.timers.clear(_TIMER)
            self._latest = None

    def _wait(self, activation: Activation, started: "tuple[float, float]", delay_ms: float) -> None:
        with self._lock:
            if self._latest is activation:
                self.timers.set(_TIMER, lambda: self._again(activation, started), delay_ms)

    def _again(self, activation: Activation, started: "tuple[float, float]") -> None:
        def is_wanted() -> bool:
            # The user may click again or close the window while the repetition waits for another call.
            passed = (self.clock.now() - started[0], self.clock.monotonic() - started[1])
            return self._latest is activation and max(passed) <= schedule.ACTIVATION_REPEAT_DURATION_MS

        try:
            self.activate(activation, is_wanted)
        except (LicenseProblem, ServiceUnreachable) as error:
            delay_ms = _repeat_after_ms(error)
            if delay_ms is not None:
                self._wait(activation, started, delay_ms)


def _is_at_limit(problem: LicenseProblem) -> bool:
    return problem.code == "machine_limit_reached"


def _repeat_after_ms(error: Union[LicenseProblem, ServiceUnreachable]) -> Optional[float]:
    """Delay until the repetition after this error; None if only another click activates."""
    requested = min((error.retry_after_seconds or 0) * 1000, schedule.ACTIVATION_REPEAT_DURATION_MS)
    if isinstance(error, ServiceUnreachable):
        return max(schedule.ACTIVATION_REPEAT_INTERVAL_MS, requested)
    # The service never answers an activation with `reactivate`.
    if error.client_action in ("retry", "reactivate"):
        return max(schedule.ACTIVATION_REPEAT_RETRY_MS, requested)
    return schedule.ACTIVATION_REPEAT_INTERVAL_MS if _is_at_limit(error) else None
