"""A user, a computer and an application for a year, chosen by a seed (test/client/year.ts)."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional

from mooring_client import LicenseProblem, ServiceUnreachable, UpdateCheck

from .computer import Computer
from .fake_time import DAY, HOUR, MINUTE
from .year_crashes import Crashes
from .year_faults import FAULT_ACTIONS, INVALID_REASONS, lose_activation, serve_invalid_manifests
from .year_guarantees import Run, find_violations

HOSTNAME_CANARY = "annas-macbook-pro"
"""Personal data in telemetry that a careless application passes; the client must not send it."""


@dataclass(frozen=True)
class _Confirmed:
    """The last confirmation: its true time, and how far the clocks were ahead of the true time."""

    at: Optional[float] = None
    skew: float = 0
    clock_error_ms: float = 0
    was_set_ahead: bool = False
    """Whether the user has set the clock ahead since."""


class Year:
    """Every run of the application is checked against the guarantees."""

    def __init__(self, seed: int) -> None:
        self.computer = Computer()
        self.violations: List[str] = []
        self.checks: List[UpdateCheck] = []
        # `late_starts` counts the starts more than seven days after the last confirmation.
        self.counts: Dict[str, int] = {"runs": 0, "faults": 0, "late_starts": 0}
        self.crashes = Crashes()
        self._random = random.Random(seed)
        # The client and the service have their own generators, so that a change of one does not change the choices of the user.
        self._client_random = random.Random(seed + 1)
        self._service_random = random.Random(seed + 2)
        self._faults = list(FAULT_ACTIONS)
        self._version = 0
        self._is_telemetry_off = False
        self._confirmed = _Confirmed()
        self._run: Run
        self.start()
        self._perform(self.computer.activate)
        # The status before the activation, which is `not_activated`, is not checked.
        self._lengths_at_start[1] = 1

    def simulate(self, days: float) -> None:
        """Alternates quiet days and faults for this number of days."""
        end = self.computer.true_time + days * DAY
        while self.computer.true_time < end:
            self._spend_time(self._span(2 * HOUR, 5 * DAY))
            self._cause_fault()
            self.counts["faults"] += 1
            # Each fault is followed by a new manifest, and every eighth one by a new version.
            self.computer.remote.publish(version=f"3.{1 + self.counts['faults'] // 8}.0")

    def finish(self) -> None:
        """Ends the last run, corrects the clock, and starts the application again."""
        self.computer.retry()
        self._end(killed=False)
        self.computer.set_clock(0)
        self.start()

    def start(self) -> None:
        """Starts the application, and records what must hold for this run."""
        computer, confirmed = self.computer, self._confirmed
        is_late = confirmed.at is not None and computer.true_time - confirmed.at > 7 * DAY
        # The client knows how long ago the confirmation was if the service's clock was right, and if the user's clock was not
        # behind and was not set since.
        is_age_known = (
            computer.skew == confirmed.skew
            and confirmed.skew >= 0
            and confirmed.clock_error_ms == 0
            and not confirmed.was_set_ahead
        )
        self._lengths_at_start = [len(computer.attempts), len(computer.states), len(computer.log)]
        self._run = Run(
            start=computer.time.elapsed,
            start_awake=computer.time.elapsed - computer.slept,
            app_version=f"3.0.{self._version}",
            is_telemetry_off=self._is_telemetry_off,
            may_need_network=is_late or confirmed.was_set_ahead,
            must_call_service=is_late and is_age_known,
        )
        self.counts["runs"] += 1
        self.counts["late_starts"] += is_late
        if self._is_telemetry_off:
            self.crashes.delete_all()
        self._perform(self._open)

    def _open(self) -> None:
        opt_out = {"EXAMPLE_TELEMETRY_DISABLED": "1"} if self._is_telemetry_off else {}
        too_much_telemetry: Mapping[str, object] = {
            "hostname": HOSTNAME_CANARY,
            "camera_url": f"rtsp://{HOSTNAME_CANARY}/",
            "arch": "arm64",
            "camera_count": 4,
        }
        self.computer.open(
            app_version=self._run.app_version,
            environment={"HOSTNAME": HOSTNAME_CANARY, **opt_out},
            telemetry=lambda: too_much_telemetry,
            random=self._client_random.random,
            on_update_check=self.checks.append,
        )

    def _cause_fault(self) -> None:
        """Causes one of the three faults that have not occurred for the longest time, so that each occurs within the year."""
        computer = self.computer
        fault = self._faults.pop(self._random.randrange(3))
        self._faults.append(fault)
        # `lose_activation` needs a client that was just confirmed, `serve_invalid_manifests` one that has seen a valid manifest.
        if fault in (lose_activation, serve_invalid_manifests):
            self._perform(computer.retry)
            computer.check_for_update()
        fault(computer.remote, self._service_random)
        if fault is serve_invalid_manifests:
            self._check_invalid_manifests()
        # While the activation is lost, only the old token keeps the application running. Therefore the service behaves again
        # (below) within six days, before that token expires.
        if fault is lose_activation:
            self._spend_time(self._span(HOUR, 6 * DAY), "careful")
        # An application that runs without a restart continues after its token has ended.
        elif computer.client.status.kind == "running" and self._random.random() < 0.25:
            self._spend_time(self._span(8 * DAY, 20 * DAY), "absent")
        else:
            self._spend_time(self._span(5 * MINUTE, 14 * DAY))
        computer.remote.behave()

    def _check_invalid_manifests(self) -> None:
        for reason in INVALID_REASONS:
            check = self.computer.check_for_update()
            if check.reason != reason:
                self.violations.append(f"an invalid manifest ({reason}) led to {check}")

    def _spend_time(self, milliseconds: float, user: str = "") -> None:
        """Performs random actions of a user for this duration.

        A careful user does not set the clock, and no action lasts longer than the duration; an absent user only lets time pass.
        """
        end = self.computer.true_time + milliseconds
        left = milliseconds
        while left > 0:
            longest = left if user else float("inf")
            self._perform(lambda longest=longest: self._perform_random_action(longest, user))
            left = end - self.computer.true_time

    def _perform_random_action(self, longest: float, user: str) -> None:
        computer = self.computer
        # While the application waits for the network, a pause lasts at most three hours, so that the user acts more often.
        longest_pause = 3 * HOUR if computer.client.status.kind == "needs_network" else 3 * DAY
        # Below 0.62, the user only lets time pass.
        draw = self._random.random() * (0.62 if user == "absent" else 1)
        if draw < 0.5:
            computer.time.advance(min(longest, self._span(10 * MINUTE, longest_pause)))
        elif draw < 0.62:
            computer.sleep(min(longest, self._span(MINUTE, 2 * DAY)), self._random.random() < 0.5)
        elif draw < 0.7:
            self._restart(min(longest, self._span(1, HOUR)))
        elif draw < 0.78:
            self._restart(min(longest, self._span(HOUR, 12 * DAY)))
        elif draw < 0.84:
            self._restart(min(longest, self._span(1, HOUR)), killed=True)
        elif draw < 0.9:
            computer.retry()
        elif draw < 0.93:
            computer.check_for_update()
        elif draw < 0.95:
            try:
                computer.activate()
            except (LicenseProblem, ServiceUnreachable):
                pass
        else:
            if not user:
                self._set_clock(0 if self._random.random() < 0.4 else self._random.uniform(-365, 365) * DAY)
            computer.time.advance(min(longest, self._span(MINUTE, HOUR)))

    def _span(self, shortest: float, longest: float) -> float:
        """Draws a duration on a logarithmic scale, so that minutes are as frequent as weeks."""
        drawn: float = shortest * (longest / shortest) ** self._random.random()
        return drawn

    def _set_clock(self, skew: float) -> None:
        if skew > self.computer.skew:
            confirmed = self._confirmed
            self._confirmed = _Confirmed(confirmed.at, confirmed.skew, confirmed.clock_error_ms, was_set_ahead=True)
        self.computer.set_clock(skew)

    def _perform(self, work: Callable[[], object]) -> None:
        work()
        remote, skew = self.computer.remote, self.computer.skew
        if remote.confirmed_at != self._confirmed.at:
            self._confirmed = _Confirmed(remote.confirmed_at, skew, remote.clock_error_ms)

    def _restart(self, off_ms: float, killed: bool = False) -> None:
        """Ends or kills the application and starts it again later, sometimes with another version or telemetry setting."""
        self._end(killed)
        self.computer.time.wall += off_ms
        if self._random.random() < 0.2:
            self._is_telemetry_off = not self._is_telemetry_off
        if self._random.random() < 0.2:
            self._version += 1
        self.start()
        if killed or self._random.random() < 0.1:
            label = self.crashes.add(self._is_telemetry_off)
            crash = {"crash_kind": "native", "crash_label": label, "crash_log": HOSTNAME_CANARY}
            self.computer.client.report_crash(crash)

    def _end(self, killed: bool) -> None:
        """Checks the run that ends against the guarantees."""
        computer, run = self.computer, self._run
        if killed:
            computer.kill()
        else:
            computer.client.close()
        run.end_awake = computer.time.elapsed - computer.slept
        attempts, states, log = self._lengths_at_start
        run.attempts, run.states, run.log = computer.attempts[attempts:], computer.states[states:], computer.log[log:]
        found = [*find_violations(run), *self.crashes.find_wrongly_sent(run.attempts), *self._check_state_file()]
        self.violations += [f"run {self.counts['runs']}: {sentence}" for sentence in found]

    def _check_state_file(self) -> List[str]:
        names = sorted(path.name for path in self.computer.folder.iterdir())
        state = json.loads(self.computer.state_file.read_text(encoding="utf-8"))
        is_complete = state["version"] == 1 and "token" in state["license"]
        lock = self.computer.folder / "license.json.lock"
        is_alone = names == ["license.json", "license.json.lock"] and lock.stat().st_size == 0
        return [] if is_complete and is_alone else [f"an incomplete state file, or other files beside it: {names}"]
