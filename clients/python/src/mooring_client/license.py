"""The state machine of one license (docs/clients.md#the-states).

The file is long, because a state machine is easier to check in one place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Dict, Mapping, Optional, Union

from .answers import Confirmation, NoAnswer, Outcome, Refusal, error_of, logged_code, read_license_answer
from .license_token import TokenReader
from .problem import LicenseProblem
from .schedule import CallEnd, Confirmed, NotCalled, Unconfirmed
from .seen_time import SeenTime
from .state import StoredLicense, StoredStop
from .status import NeedsNetwork, NotActivated, Running, Status, Stopped, applies_to, has_telemetry, stopped_by
from .store import Store
from .time_text import parse_time
from .transport import Transport

# The service uses these codes only for activations, never for heartbeats. The refusal of a background activation with one of them
# stops a running application only after the token's end; any other `stop` stops it at once
# (docs/clients.md#what-to-do-on-each-client_action).
_REFUSALS_OF_ACTIVATIONS = ("license_not_found", "machine_limit_reached")


@dataclass(frozen=True)
class Activation:
    """What the user typed."""

    license_key: str
    email: str
    hostname_hint: Optional[str]


@dataclass
class License:
    """The license of this computer. Its calls must not overlap: the client queues them."""

    transport: Transport
    store: Store
    time: SeenTime
    app_version: str
    machine_id: Callable[[], str]
    tokens: TokenReader
    telemetry: Callable[[Optional[Mapping[str, object]]], Optional[Mapping[str, object]]]
    """The telemetry of the next heartbeat with this crash signature, or None if the user opted out."""
    log: Callable[[str], None]
    status: Status = NotActivated()

    def start(self) -> CallEnd:
        """Decides whether the application may run. Before the end of a believable token, it runs at once.

        Otherwise, and after a stop, the client first sends a heartbeat, not an activation, so that a released machine is not
        activated again. A token of another machine is never sent: `heartbeat` then activates this machine instead, and after a
        stop nothing is sent.
        """
        license, stopped = self.store.state.license, self.store.state.stopped
        if license is None:
            return NotCalled()
        if stopped is not None and not applies_to(stopped, license.license_key, self.tokens.this_machine(), self.app_version):
            stopped = None
        reading = self.tokens.read(license)
        if reading.claims is not None:
            self.time.at_least(reading.claims.iat * 1000)
        if stopped is not None:
            self.status = stopped_by(stopped)
        elif reading.is_believable and self._is_token_valid(license):
            self.status = self._running_status(license)
        else:
            self.status = NeedsNetwork(reading.offline_until, "not_asked_yet")
        # After a stop, a machine that has a token of another machine is activated only when the user asks for it.
        if stopped is not None and self.tokens.is_of_another_machine(license):
            return NotCalled()
        if not isinstance(self.status, Running):
            return self.heartbeat()
        self.remember_time()
        return NotCalled()

    def activate(self, activation: Activation) -> CallEnd:
        """Activates, for the Activate button. Raises the error of `error_of` or of `machine_id`; the license is then unchanged."""
        outcome = self._call_activate(activation)
        if not isinstance(outcome, Confirmation):
            raise error_of(outcome)
        return self._confirm(activation, outcome)

    def heartbeat(self) -> CallEnd:
        """Sends a heartbeat, or the activation that replaces it, and does what the response asks for. Never raises."""
        license = self.store.state.license
        if license is None:
            return NotCalled()
        if self.tokens.is_of_another_machine(license):
            return self._activate_here(license)
        # The crash is read once. Another thread may report a newer one meanwhile, which must not be deleted as if it were sent.
        crash = self.store.state.crash
        telemetry = self.telemetry(crash) if has_telemetry(self.status) else None
        outcome = self._call_heartbeat(license, telemetry, crash)
        if telemetry is not None and _action_of(outcome) == "fix":
            outcome = self._call_heartbeat(license, None, None)
        if _action_of(outcome) != "reactivate" or not self._may_reactivate():
            return self._handle(outcome, license, is_activation=False)
        self.log("the service asked for a new activation")
        return self._handle(self._reactivate(_activation_of(license)), license, is_activation=True)

    def _may_reactivate(self) -> bool:
        """Whether `reactivate` is followed. After a stop it is followed only if an activation was refused.

        No heartbeat could end that stop, because the service does not know the token. After any other stop a released machine
        would activate itself again.
        """
        return not isinstance(self.status, Stopped) or self.status.reason in _REFUSALS_OF_ACTIVATIONS

    def remember_time(self) -> None:
        """Stores the values of `SeenTime`, unless this process has no license.

        Another process may have activated since, and this process must not overwrite the clock values of that confirmation.
        """
        if not isinstance(self.status, NotActivated):
            self.store.save(time=self.time.to_stored())

    def _call_heartbeat(
        self, license: StoredLicense, telemetry: Optional[Mapping[str, object]], crash: Optional[Mapping[str, object]]
    ) -> Outcome:
        body: Dict[str, object] = {"token": license.token, "app_version": self.app_version}
        if telemetry is not None:
            body["telemetry"] = telemetry
        outcome = self._call("/v1/heartbeat", body)
        if not isinstance(outcome, NoAnswer) or outcome.has_response:
            self.log(f"heartbeat sent (telemetry: {'off' if telemetry is None else 'on'})")
        if isinstance(outcome, NoAnswer):
            self.log(f"heartbeat not confirmed: {outcome.reason}")
        if isinstance(outcome, Refusal):
            self.log(f"heartbeat answered with {logged_code(outcome.problem)}")
        # A crash signature is sent with one heartbeat. After `fix` it is deleted too, because it would be refused again.
        is_delivered = isinstance(outcome, Confirmation) or _action_of(outcome) == "fix"
        if telemetry is not None and is_delivered and crash is not None and crash == self.store.state.crash:
            self.store.save(crash=None)
        return outcome

    def _call_activate(self, activation: Activation) -> Outcome:
        body: Dict[str, object] = {
            "license_key": activation.license_key,
            "email": activation.email,
            "machine_id": self.machine_id(),
            "app_version": self.app_version,
        }
        if activation.hostname_hint:
            body["hostname_hint"] = activation.hostname_hint
        return self._call("/v1/activate", body)

    def _call(self, path: str, body: Mapping[str, object]) -> Outcome:
        """Sends a request. A confirmation corrects the clock at once: the computer may sleep during the writes that follow."""
        outcome = read_license_answer(self.transport.call("POST", path, body))
        if isinstance(outcome, Confirmation):
            self.time.confirm(parse_time(outcome.server_time) or 0)
        return outcome

    def _activate_here(self, license: StoredLicense) -> CallEnd:
        """Activates this machine if the file has the token of another machine, which is never sent.

        The file was copied, or the disk or the logic board was replaced.
        """
        # Only the Activate button activates a released machine again.
        if isinstance(self.status, Stopped) and self.status.reason == "binding_released":
            return NotCalled()
        self.log("the license was activated on another machine: activating on this one")
        # The label was typed for the other machine.
        here = replace(license, hostname_hint=None)
        return self._handle(self._reactivate(_activation_of(here)), here, is_activation=True)

    def _handle(self, outcome: Outcome, license: StoredLicense, is_activation: bool) -> CallEnd:
        if isinstance(outcome, Confirmation):
            return self._confirm(_activation_of(license), outcome)
        if isinstance(outcome, Refusal) and self._may_stop(outcome.problem, license, is_activation):
            self._stop(outcome.problem, license)
        else:
            self._continue_after(outcome)
        return Unconfirmed(error_of(outcome).retry_after_seconds)

    def _reactivate(self, activation: Activation) -> Outcome:
        try:
            return self._call_activate(activation)
        except Exception:  # A machine id that cannot be read at the moment does not stop the application.
            return NoAnswer("no machine id")

    def _confirm(self, activation: Activation, confirmation: Confirmation) -> CallEnd:
        license = StoredLicense(
            license_key=activation.license_key,
            email=activation.email,
            hostname_hint=activation.hostname_hint,
            token=confirmation.token,
            offline_until=confirmation.offline_until,
            expires_at=confirmation.license_expires_at,
        )
        self.store.save(license=license, stopped=None, time=self.time.to_stored())
        self.status = self._running_status(license)
        return Confirmed(confirmation.heartbeat_after_seconds)

    def _may_stop(self, problem: LicenseProblem, license: StoredLicense, is_activation: bool) -> bool:
        """Only `stop` can stop a running application (docs/contract.md#errors)."""
        if problem.client_action != "stop":
            return False
        is_ignored_for_now = is_activation and problem.code in _REFUSALS_OF_ACTIVATIONS
        return not (is_ignored_for_now and isinstance(self.status, Running) and self._is_token_valid(license))

    def _stop(self, problem: LicenseProblem, license: StoredLicense) -> None:
        # `release_url` is valid for ten minutes only (docs/clients.md#a-full-license).
        lasting = {name: value for name, value in problem.extras.items() if name != "release_url"}
        mch = self.tokens.this_machine()
        stopped = StoredStop(problem.code, problem.detail, lasting, license.license_key, mch, self.app_version)
        self.store.save(stopped=stopped, time=self.time.to_stored())
        self.status = Stopped(problem.code, problem.detail, problem.extras)

    def _continue_after(self, outcome: Union[Refusal, NoAnswer]) -> None:
        self.remember_time()
        if isinstance(self.status, NeedsNetwork):
            reason = outcome.problem.code if isinstance(outcome, Refusal) else outcome.reason
            self.status = replace(self.status, reason=reason)
        if not isinstance(self.status, Running) or not isinstance(outcome, Refusal):
            return
        problem = outcome.problem
        # The user has until the token's end to release another machine.
        if problem.client_action == "stop" and problem.code == "machine_limit_reached":
            self.status = replace(self.status, machine_limit_reached=problem.extras)

    def _is_token_valid(self, license: StoredLicense) -> bool:
        """The 7-day rule: whether the application may be restarted without the network."""
        end = parse_time(self.tokens.read(license).offline_until)
        return end is not None and self.time.now() <= end

    def _running_status(self, license: StoredLicense) -> Running:
        return Running(self.tokens.read(license).offline_until, license.expires_at)


def _activation_of(license: StoredLicense) -> Activation:
    return Activation(license.license_key, license.email, license.hostname_hint)


def _action_of(outcome: Outcome) -> Optional[str]:
    return outcome.problem.client_action if isinstance(outcome, Refusal) else None
