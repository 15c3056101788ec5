"""The client against the misbehaving service, fault by fault, over real sockets (test/client/misbehaving.test.ts)."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Dict, List, Optional, Tuple
from unittest.mock import patch

from mooring_client import LicenseProblem, NotActivated, Running, ServiceUnreachable, Stopped, UpdateCheck
from mooring_client.time_text import format_time

from .support.cases import for_each
from .support.computer import Computer, bodies
from .support.exchange import Exchange
from .support.fake_time import DAY, HOUR, MINUTE
from .support.faults import FIX_PROBLEMS, NO_ANSWERS, RETRY_PROBLEMS, WRONG_SHAPES
from .support.misbehaving_service import Stop
from .support.signer import Signer, manifest


def not_an_answer(status: int) -> str:
    return f"not an answer of the service, status {status}"


# For each fault: the reason in the client's log, the reason why there is no update, and, if the next heartbeat is sent within five
# hours, its delay in seconds before the client adds up to 10 %.
EXPECTED: Dict[str, Tuple[str, str, Optional[float]]] = {
    "no response": ("timeout", "unreachable", None),
    "a response that never ends": ("timeout", "unreachable", None),
    "a connection that is closed without a response": ("connection closed", "unreachable", None),
    "an incomplete answer": ("cut answer", "unreachable", None),
    "an incomplete stop": ("cut answer", "unreachable", None),
    "a stop shorter than its content-length": ("cut answer", "unreachable", None),
    "bytes that are not HTTP": ("no connection", "unreachable", None),
    "a captive portal’s page": (not_an_answer(200), "malformed", None),
    "a captive portal’s page that calls itself JSON": (not_an_answer(200), "malformed", None),
    "a captive portal’s redirect": ("redirect", "unreachable", None),
    "a redirect that says stop": ("redirect", "unreachable", None),
    "a proxy’s 403": (not_an_answer(403), "unreachable", None),
    "a proxy’s 502": (not_an_answer(502), "unreachable", None),
    "a 500": (not_an_answer(500), "unreachable", None),
    "a stop as plain JSON": (not_an_answer(403), "unreachable", None),
    "a stop with status 200": (not_an_answer(200), "malformed", None),
    "a stop with status 202": (not_an_answer(202), "unreachable", None),
    "a stop without a code": (not_an_answer(403), "unreachable", None),
    "a stop whose code is a number": (not_an_answer(403), "unreachable", None),
    "a stop in a list": (not_an_answer(403), "unreachable", None),
    "invalid UTF-8": ("answer not UTF-8", "unreachable", None),
    "an empty answer": (not_an_answer(200), "malformed", None),
    "an answer that is too large": ("answer too large", "unreachable", None),
    "a stop that is too large": ("answer too large", "unreachable", None),
    "a 503 without a retry-after": (not_an_answer(503), "unreachable", None),
    "a 503 with a retry-after of two minutes": (not_an_answer(503), "unreachable", 120),
    "a 503 with a date as its retry-after": (not_an_answer(503), "unreachable", 900),
    "a 503 with a retry-after in the past": (not_an_answer(503), "unreachable", 60),
    "a 503 with a retry-after of zero": (not_an_answer(503), "unreachable", 60),
    "a 503 with a retry-after of ten years": (not_an_answer(503), "unreachable", None),
    "a 503 with a negative retry-after": (not_an_answer(503), "unreachable", None),
    "a 429 with a retry-after that is not a time": (not_an_answer(429), "unreachable", None),
    "a 429 with a retry-after of 90 seconds": (not_an_answer(429), "unreachable", 90),
}
_HEARTBEAT, _ACTIVATE = "/v1/heartbeat", "/v1/activate"


class ComputerTest(unittest.TestCase):
    """Tests with a computer whose application is activated and runs; the service has no fault yet."""

    def setUp(self) -> None:
        self.computer = Computer()
        self.addCleanup(self.computer.close)
        self.computer.open(telemetry=lambda: {"arch": "arm64"})
        self.computer.activate()

    def kinds(self) -> List[str]:
        return [status.kind for status in self.computer.states]

    def delay_of_retry(self) -> Optional[float]:
        """Waits five hours for the next heartbeat. Returns its delay in seconds; None if none was sent."""
        start, made = self.computer.time.elapsed, len(self.computer.calls(_HEARTBEAT))
        self.computer.time.advance(5 * HOUR)
        later = self.computer.calls(_HEARTBEAT)[made:]
        return round((later[0].when - start) / 1000) if later else None


def _check_no_answer(test: ComputerTest, name: str) -> None:
    reason, no_update, seconds = EXPECTED[name]
    computer, fault = test.computer, NO_ANSWERS[name]
    before = computer.client.status
    computer.remote.misbehave(fault)
    # The application continues to run.
    test.assertEqual(computer.retry().kind, "running")
    test.assertIn(f"heartbeat not confirmed: {reason}", computer.log)
    # The client adds up to 10 % at random; `random` returns 0.5.
    test.assertEqual(test.delay_of_retry(), None if seconds is None else round(seconds * 1.05))
    test.assertEqual(test.kinds(), ["not_activated", "running"])
    # Activate fails with the reason, and the status does not change.
    with test.assertRaises(ServiceUnreachable) as raised:
        computer.activate("MOOR_0000-0000-0000-0000")
    test.assertEqual((raised.exception.reason, computer.client.status), (reason, before))
    test.assertEqual(len(computer.calls(_ACTIVATE)), 2)
    # No update is available, and the log contains the reason.
    test.assertEqual(computer.check_for_update(), UpdateCheck(reason=no_update))  # type: ignore[arg-type]
    test.assertIn(f"no update available: {no_update}", computer.log)
    # A restart after 8 days needs the network. Once the service answers, Retry lets the application run.
    status = computer.restart_after(8 * DAY)
    test.assertEqual((status.kind, getattr(status, "reason", None)), ("needs_network", reason))
    computer.remote.publish(version="3.2.0")
    computer.remote.behave()
    test.assertEqual(computer.retry().kind, "running")
    test.assertTrue(computer.check_for_update().is_available)
    test.assertEqual(len(computer.calls(_ACTIVATE)), 2)


@for_each([(f"{name}: counts as no answer", name) for name in NO_ANSWERS], _check_no_answer)
class NoAnswers(ComputerTest):
    """Faults of the network, of intermediaries and of a broken server"""

    def test_the_table_has_every_fault(self) -> None:
        self.assertEqual(set(EXPECTED), set(NO_ANSWERS))


def _check_wrong_shape(test: ComputerTest, name: str) -> None:
    computer = test.computer
    computer.remote.misbehave(WRONG_SHAPES[name])
    test.assertEqual(computer.retry().kind, "running")
    with test.assertRaisesRegex(ServiceUnreachable, not_an_answer(200)):
        computer.activate()
    test.assertEqual(getattr(computer.restart_after(8 * DAY), "reason", None), not_an_answer(200))
    computer.remote.behave()
    test.assertEqual(computer.retry().kind, "running")


def _check_retry_problem(test: ComputerTest, name: str) -> None:
    computer = test.computer
    computer.remote.misbehave(RETRY_PROBLEMS[name])
    test.assertEqual(computer.retry().kind, "running")
    test.assertIsNone(test.delay_of_retry())
    with test.assertRaises(LicenseProblem) as raised:
        computer.activate()
    test.assertEqual(raised.exception.client_action, "retry")
    test.assertIn(f"heartbeat answered with {raised.exception.code}", computer.log)
    test.assertEqual(getattr(computer.restart_after(8 * DAY), "reason", None), raised.exception.code)
    computer.remote.behave()
    test.assertEqual(computer.retry().kind, "running")


def _check_fix_problem(test: ComputerTest, code: str) -> None:
    computer = test.computer
    computer.remote.misbehave(FIX_PROBLEMS[code])
    test.assertEqual(computer.retry().kind, "running")
    # The heartbeat is repeated once, without telemetry.
    test.assertEqual(["telemetry" in body for body in bodies(computer.calls(_HEARTBEAT))], [True, False])
    test.assertIsNone(test.delay_of_retry())
    with test.assertRaises(LicenseProblem) as raised:
        computer.activate()
    test.assertEqual((raised.exception.code, raised.exception.client_action), (code, "fix"))
    test.assertEqual(getattr(computer.restart_after(8 * DAY), "reason", None), code)


@for_each([(f"{name}: confirms nothing", name) for name in WRONG_SHAPES], _check_wrong_shape, "shape")
@for_each([(f"{name}: the application continues, and the code is reported", name) for name in RETRY_PROBLEMS], _check_retry_problem, "retry")
@for_each([(f"{name}: the heartbeat is repeated once without telemetry, and the application continues", name) for name in FIX_PROBLEMS], _check_fix_problem, "fix")
class Answers(ComputerTest):
    """Answers of another shape, problems, a closed port, a wrong clock, and a stop"""

    def test_a_closed_port(self) -> None:
        """A closed port stops nothing, and a late restart runs within a minute after the port is open."""
        computer = self.computer
        computer.remote.refuse()
        self.assertEqual(computer.retry().kind, "running")
        with self.assertRaisesRegex(ServiceUnreachable, "ECONNREFUSED"):
            computer.activate()
        self.assertEqual(computer.check_for_update(), UpdateCheck(reason="unreachable"))
        self.assertEqual(getattr(computer.restart_after(8 * DAY), "reason", None), "ECONNREFUSED")
        computer.remote.behave()
        computer.time.advance(MINUTE)
        self.assertEqual(computer.client.status.kind, "running")

    def test_an_unknown_token(self) -> None:
        """A token that the service no longer knows is replaced by activating the same machine again in the background."""
        computer = self.computer
        computer.remote.forget_tokens()
        computer.time.advance(12 * HOUR)
        clicked, background = computer.calls(_ACTIVATE)
        assert clicked.received is not None and background.received is not None
        self.assertEqual(background.received.raw, clicked.received.raw)
        self.assertEqual((background.is_user_initiated, computer.remote.activations), (False, 1))
        self.assertEqual(computer.client.status.kind, "running")
        confirmed = [bool(call.received and call.received.is_confirmed) for call in computer.calls(_HEARTBEAT)]
        self.assertEqual(confirmed, [False, True])

    def test_a_refused_background_activation(self) -> None:
        """A background activation that is refused stops nothing while the old token is valid, and stops the application after it."""
        computer = self.computer
        for code, status in (("machine_limit_reached", 409), ("license_not_found", 404)):

            def refuse(exchange: Exchange, code: str = code, status: int = status) -> None:
                exchange.problem(status, code, "stop")

            computer.remote.forget_tokens()
            computer.remote.misbehave(refuse, [_ACTIVATE])
            computer.time.advance(6 * DAY)
            self.assertEqual(computer.client.status.kind, "running")
            computer.remote.behave()
            computer.time.advance(7 * HOUR)
            last = computer.calls(_ACTIVATE)[-1].received
            self.assertTrue(last and last.is_confirmed)
        computer.remote.forget_tokens()
        computer.remote.misbehave(refuse, [_ACTIVATE])
        computer.time.advance(8 * DAY)
        self.assertEqual(computer.client.status.kind, "stopped")

    def test_a_wrong_clock_of_the_service(self) -> None:
        """A service whose clock is a year wrong stops no client, also not when it is corrected."""
        for error in (-365 * DAY, 365 * DAY):
            computer = Computer()
            self.addCleanup(computer.close)
            computer.open()
            computer.activate()
            computer.remote.clock_error_ms = error
            self.assertEqual(computer.retry().kind, "running")
            computer.remote.misbehave(NO_ANSWERS["a captive portal’s page"])
            self.assertEqual(computer.restart_after(6 * DAY).kind, "running")
            # This also corrects the clock of the service.
            computer.remote.behave()
            self.assertEqual(computer.retry().kind, "running")
            computer.remote.misbehave(NO_ANSWERS["a captive portal’s page"])
            self.assertEqual(computer.restart_after(6 * DAY).kind, "running")
            self.assertEqual(computer.restart_after(2 * DAY).kind, "needs_network")

    def test_a_stop(self) -> None:
        """A stop in the answer to a heartbeat stops the application, and a refusal of Activate does not."""
        computer = self.computer
        computer.remote.stop = stop = Stop("license_refunded", "The purchase of this license was refunded.")
        with self.assertRaises(LicenseProblem):
            computer.activate()
        self.assertIsInstance(computer.client.status, Running)
        stopped = Stopped(stop.code, stop.detail, {})
        self.assertEqual(computer.retry(), stopped)
        self.assertEqual(computer.states[-1], stopped)


class Manifests(unittest.TestCase):
    """Manifests that the service serves after the client has seen a valid one"""

    def setUp(self) -> None:
        self.computer = Computer()
        self.addCleanup(self.computer.close)
        self.computer.remote.publish(version="3.2.0")
        self.checks: List[UpdateCheck] = []
        self.assertEqual(self.computer.open(on_update_check=self.checks.append), NotActivated())
        self.assertEqual(self._version(), "3.2.0")

    def _version(self) -> Optional[str]:
        offer = self.computer.client.check_for_update().offer
        return offer and offer.version

    def test_invalid_manifests(self) -> None:
        """An invalid manifest is no update, also after a restart, and is logged with its reason."""
        key, other = self.computer.remote.key, Signer.make()
        # The client has seen the sequence 2.
        high = {"sequence": 3, "version": "9.0.0", "expires_at": "2099-01-01T00:00:00Z"}
        invalid = {
            "sequence_too_low": [manifest([key], sequence=1), manifest([key], sequence=1, version="9.0.0")],
            "equivocation": [manifest([key], sequence=2, version="3.2.1")],
            "wrong_product": [manifest([key], **{**high, "product": "com.example.other"})],
            "untrusted": [manifest([other], **high), manifest([other], [key.key_id], **high)],
            "malformed": [{**self.computer.remote.published, "signed": {}}],
            # The last one, because the client remembers its sequence.
            "expired": [manifest([key], **{**high, "expires_at": format_time(self.computer.true_time - 1)})],
        }
        for reason, documents in invalid.items():
            for document in documents:
                self.computer.remote.published = document
                # This changes only the ETag: with the old one, the service would answer 304.
                self.computer.remote.sequence += 1
                self.computer.log.clear()
                self.assertEqual(self.computer.client.check_for_update().reason, reason)
                line = "EQUIVOCATION: " if reason == "equivocation" else f"no update available: {reason}"
                self.assertTrue(self.computer.log[-1].startswith(line), self.computer.log)
                self.computer.restart()
                self.assertEqual(self.computer.client.check_for_update().reason, reason)

    def test_a_newer_manifest_of_another_process(self) -> None:
        """The manifest that a process has seen is refused once another process has seen a newer one, which withdraws its version."""
        computer, first, old = self.computer, self.computer.client, self.computer.remote.published
        computer.open()
        computer.remote.publish(version="3.1.0")
        self.assertEqual(computer.client.check_for_update().reason, "up_to_date")
        computer.remote.published = old
        self.assertEqual(first.check_for_update().reason, "sequence_too_low")
        first.close()

    def test_a_state_that_cannot_be_read(self) -> None:
        """No update is offered until the state was read once: it may have a higher sequence, or a license for other versions."""
        computer, old = self.computer, self.computer.remote.published
        computer.remote.publish(version="3.1.0")
        computer.client.check_for_update()
        computer.remote.published = old
        with patch.object(Path, "read_bytes", side_effect=PermissionError), patch("mooring_client.state_file._PAUSE_SECONDS", 0):
            computer.restart()
            self.assertEqual(computer.client.check_for_update().reason, "state_unreadable")
            computer.remote.publish(version="3.2.0", minimum_license_expiry="2027-01-04T00:00:00Z")
            self.assertEqual(computer.client.check_for_update().reason, "state_unreadable")
        computer.remote.published = old
        computer.remote.sequence += 1
        computer.time.advance(MINUTE)
        self.assertEqual(computer.client.check_for_update().reason, "sequence_too_low")
        # Later the sequences in memory are used.
        computer.remote.publish(version="3.2.0")
        with patch.object(Path, "read_bytes", side_effect=PermissionError), patch("mooring_client.state_file._PAUSE_SECONDS", 0):
            self.assertEqual(self._version(), "3.2.0")

    def test_changed_outer_members(self) -> None:
        """A manifest whose outer members were changed is read from its signed content."""
        outer = {
            "version": "99.0.0",
            "dmg_sha256": "00" * 32,
            "minimum_license_expiry": "2099-01-01T00:00:00Z",
            "signature": "A" * 86,
            "key_id": "B" * 43,
        }
        for number, name in enumerate(outer):
            self.computer.remote.publish(version=f"3.4.{number}")
            self.computer.remote.published[name] = outer[name]
            self.assertEqual(self._version(), f"3.4.{number}")

    def test_a_cut_manifest_with_an_etag(self) -> None:
        """A text that no trusted key has signed is not kept: a 304 would repeat it until the next manifest."""
        etag = {"etag": '"m2"', "content-type": "application/json"}
        whole = json.dumps(self.computer.remote.published)
        for text, reason in ((whole[:100], "malformed"), (whole.replace('"signatures"', '"other"'), "untrusted")):
            answer = text
            self.computer.remote.misbehave(lambda exchange: exchange.send(200, etag, answer), ["/v1/manifest"])
            self.assertIsNone(self._version())
            self.assertEqual(self.checks[-1].reason, reason)
            self.computer.remote.behave()
            self.assertEqual(self._version(), "3.2.0")

    def test_expiry(self) -> None:
        """The same manifest remains an update until it expires after 90 days. It is read daily, without a license."""
        self.computer.time.advance(89 * DAY)
        self.assertTrue(all(check.is_available for check in self.checks))
        self.assertIn(len(self.checks), range(85, 95))
        self.computer.time.advance(3 * DAY)
        self.assertEqual(self.checks[-1], UpdateCheck(reason="expired"))
        self.assertEqual({call.path for call in self.computer.attempts}, {"/v1/manifest"})
        known = [call.received and call.received.headers.get("if-none-match") for call in self.computer.attempts]
        self.assertEqual(set(known), {None, '"m2"'})
