"""The client as an application uses it: states, callbacks, threads, and the end."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import unittest
from concurrent.futures import Future
from pathlib import Path
from typing import AbstractSet, Callable, ContextManager, Dict, List, Optional
from unittest.mock import patch

from mooring_client import LicenseProblem, MachineIdUnreadable, MooringClient, NeedsNetwork, NotActivated, Ports
from mooring_client import Running, ServiceUnreachable, Status, Stopped, UpdateCheck
from mooring_client.call_queue import CallQueue, SharedCall
from mooring_client.state import State
from mooring_client.state_file import FileStorage

from .support.computer import EMAIL, KEY, Computer
from .support.exchange import Exchange
from .support.fake_time import DAY, HOUR, MINUTE, SECOND
from .support.misbehaving_service import MACHINE_ID, MisbehavingService, Stop
from .support.signer import Signer

_ACTIVATE, _HEARTBEAT = "/v1/activate", "/v1/heartbeat"


def _at_limit(exchange: Exchange) -> None:
    exchange.problem(409, "machine_limit_reached", "stop", portal_url="https://x/portal/", release_url="https://x/#r")


class ClientTest(unittest.TestCase):
    """Tests with a computer whose application was started, but not activated."""

    def setUp(self) -> None:
        self.computer = Computer()
        self.addCleanup(self.computer.close)
        self.computer.open()

    def state(self) -> Dict[str, Dict[str, object]]:
        state: Dict[str, Dict[str, object]] = json.loads(self.computer.state_file.read_text(encoding="utf-8"))
        return state

    def count(self, path: str) -> int:
        return len(self.computer.calls(path))


class States(ClientTest):
    """docs/clients.md#the-states"""

    def test_a_license_that_runs(self) -> None:
        self.assertEqual(self.computer.client.status, NotActivated())
        status = self.computer.activate(" key: moor e6s7-z8kj-tb3r-qkx6 ")
        assert isinstance(status, Running)
        self.assertEqual((status.offline_until, status.license_expires_at), ("2026-11-27T13:00:00.000Z", None))
        sent = self.computer.calls(_ACTIVATE)[0].received
        self.assertEqual(
            sent and sent.body,
            {
                "license_key": KEY,
                "email": EMAIL,
                "machine_id": MACHINE_ID,
                "hostname_hint": "Studio Mac",
                "app_version": "3.1.0",
            },
        )
        # Offline for 90 days: it runs. Restarted then: a heartbeat at once, and no activation.
        self.computer.remote.refuse()
        self.computer.time.advance(90 * DAY)
        self.assertEqual(self.computer.client.status.kind, "running")
        made = self.count(_HEARTBEAT)
        self.assertIsInstance(self.computer.restart(), NeedsNetwork)
        self.assertEqual((self.count(_HEARTBEAT), self.count(_ACTIVATE)), (made + 1, 1))

    def test_a_text_that_is_no_key(self) -> None:
        with self.assertRaises(LicenseProblem) as raised:
            self.computer.activate("my password")
        self.assertEqual((raised.exception.code, raised.exception.status), ("invalid_request", 422))
        self.assertEqual(self.computer.attempts, [])

    def test_a_second_stop(self) -> None:
        """A second stop while stopped replaces the first one, and is stored."""
        self.computer.activate()
        for code in ("license_suspended", "license_refunded"):
            self.computer.remote.stop = Stop(code, f"because of {code}")
            self.assertEqual(self.computer.retry(), Stopped(code, f"because of {code}", {}))
            self.assertEqual(self.state()["stopped"]["code"], code)
        self.assertEqual([status.kind for status in self.computer.states], ["not_activated", "running", "stopped", "stopped"])

    def test_a_firewall_that_refuses_telemetry(self) -> None:
        """Although each body with telemetry is refused, a late restart runs within a minute, and a restart ends a stop."""

        def firewall(exchange: Exchange) -> None:
            if "telemetry" in exchange.received.body:
                exchange.page(403)
            else:
                self.computer.remote.answer(exchange)

        self.computer.activate()
        self.computer.remote.misbehave(firewall, [_HEARTBEAT])
        self.assertEqual(self.computer.restart_after(8 * DAY).kind, "needs_network")
        self.computer.time.advance(MINUTE)
        self.assertEqual(self.computer.client.status.kind, "running")
        self.computer.remote.behave()
        self.computer.remote.stop = Stop("license_suspended", "suspended")
        self.assertEqual(self.computer.retry().kind, "stopped")
        self.computer.remote.stop = None
        self.computer.remote.misbehave(firewall, [_HEARTBEAT])
        self.assertEqual(self.computer.restart_after(MINUTE).kind, "running")

    def stop_version_4(self) -> None:
        """Version 4.0 is refused, and then the service cannot be reached."""
        self.computer.activate()
        self.computer.client.close()
        self.computer.open(app_version="4.0")
        self.computer.remote.stop = Stop("version_not_covered", "not covered")
        self.assertEqual(self.computer.retry().kind, "stopped")
        self.computer.remote.refuse()
        self.computer.client.close()

    def test_a_version_that_is_not_covered(self) -> None:
        """A stop of one version does not stop another one, which runs until the end of the token."""
        self.stop_version_4()
        for version, kind in (("4.0", "stopped"), ("3.1.0", "running"), ("4.0", "stopped")):
            self.assertEqual(self.computer.open(app_version=version).kind, kind, version)
            self.computer.client.close()
        self.computer.open()
        self.assertEqual(self.computer.restart_after(8 * DAY).kind, "needs_network")

    def test_a_stop_of_a_version_that_an_earlier_client_did_not_store(self) -> None:
        """A stop `version_not_covered` without `app_version` is of another version: it does not stop this one."""
        self.stop_version_4()
        state = self.state()
        del state["stopped"]["app_version"]
        self.computer.state_file.write_text(json.dumps(state), encoding="utf-8")
        self.assertEqual(self.computer.open().kind, "running")

    def test_a_stop_in_a_file_that_two_computers_share(self) -> None:
        """It stops the other computer only if it is about the license, or if a machine id cannot be read."""

        def fail() -> str:
            raise MachineIdUnreadable("no hardware UUID")

        def other() -> str:
            return "cd" * 32

        def first() -> str:
            return MACHINE_ID

        computer = self.computer
        for code, stopped, started, kind in (
            ("binding_released", first, other, "running"),
            ("machine_limit_reached", first, other, "running"),
            ("license_revoked", first, other, "stopped"),
            ("binding_released", fail, other, "stopped"),
            ("binding_released", first, fail, "stopped"),
        ):
            with self.subTest(code=code, stopped=stopped.__name__, started=started.__name__):
                computer.remote.behave()
                computer.remote.stop = None
                computer.activate()
                computer.client.close()
                computer.open(machine_id=stopped)
                computer.remote.stop = Stop(code, "because")
                self.assertEqual(computer.retry().kind, "stopped")
                computer.remote.refuse()
                computer.client.close()
                self.assertEqual(computer.open(machine_id=started).kind, kind)
                computer.client.close()
                self.assertEqual(computer.open().kind, "stopped")

    def test_a_stop_of_a_license_that_another_process_has_replaced(self) -> None:
        computer = self.computer
        computer.activate()
        first = computer.client
        computer.open()
        computer.activate("MOOR_0000-0000-0000-0000")
        computer.client.close()
        computer.remote.stop = Stop("license_expired", "expired")
        self.assertEqual(first.heartbeat_now().kind, "stopped")
        first.close()
        computer.remote.refuse()
        self.assertEqual(computer.open().kind, "running")

    def test_a_stop_that_could_not_be_written(self) -> None:
        """It is dropped if another process was confirmed since; otherwise it is written later."""
        computer = self.computer
        computer.activate()
        for is_confirmed, kind in ((True, "running"), (False, "stopped")):
            first = computer.client
            computer.open()
            computer.remote.stop = Stop("license_suspended", "suspended")
            with patch("os.replace", side_effect=OSError):
                self.assertEqual(first.heartbeat_now().kind, "stopped")
            computer.remote.stop = None
            computer.time.wall += HOUR
            if is_confirmed:
                computer.retry()
            computer.client.close()
            first.close()
            computer.remote.misbehave(lambda exchange: exchange.page(502))
            self.assertEqual(computer.open().kind, kind)
            computer.remote.behave()

    def test_reactivate_while_stopped(self) -> None:
        """A stopped application does not follow `reactivate`, keeps its stop, and sends no license call by itself for a week."""
        self.computer.activate()
        self.computer.remote.stop = Stop("binding_released", "released")
        self.computer.retry()
        self.computer.remote.stop = None
        self.computer.remote.forget_tokens()
        self.assertEqual(self.computer.retry().kind, "stopped")
        self.assertEqual(self.computer.restart().kind, "stopped")
        made = self.count(_HEARTBEAT)
        self.computer.time.advance(7 * DAY)
        self.assertEqual((self.count(_HEARTBEAT), self.count(_ACTIVATE)), (made, 1))
        self.assertEqual(self.computer.activate().kind, "running")
        self.assertIsNone(self.state()["stopped"])

    def test_reactivate_after_a_refused_activation(self) -> None:
        """After a refused activation Retry and a restart follow a `reactivate`: the service does not know the token of a heartbeat."""
        for try_again in (self.computer.retry, self.computer.restart):
            self.computer.activate()
            self.computer.remote.forget_tokens()
            self.computer.remote.misbehave(_at_limit, [_ACTIVATE])
            self.assertEqual(self.computer.restart_after(8 * DAY).kind, "stopped")
            self.assertEqual(try_again().kind, "stopped")
            self.computer.remote.behave()
            self.assertEqual(try_again().kind, "running")
            self.assertIsNone(self.state()["stopped"])

    def test_reactivate_while_the_network_is_needed(self) -> None:
        """In `needs_network` a `reactivate` is followed, and a refusal then stops the application."""
        self.computer.activate()
        self.computer.remote.forget_tokens()
        self.assertEqual(self.computer.restart_after(8 * DAY).kind, "running")
        self.assertEqual(self.count(_ACTIVATE), 2)
        self.computer.remote.forget_tokens()
        self.computer.remote.misbehave(_at_limit, [_ACTIVATE])
        status = self.computer.restart_after(8 * DAY)
        assert isinstance(status, Stopped)
        self.assertEqual((status.reason, status.extras["release_url"]), ("machine_limit_reached", "https://x/#r"))
        # The link is valid for ten minutes only, so it is not stored.
        self.assertEqual(self.state()["stopped"]["extras"], {"portal_url": "https://x/portal/"})

    def test_a_copied_state_file(self) -> None:
        """A token of another machine is never sent: this machine activates, and runs on while the machine limit refuses that."""
        self.computer.activate()
        self.computer.client.close()
        self.assertEqual(self.computer.open(machine_id=lambda: "cd" * 32).kind, "running")
        self.computer.remote.misbehave(_at_limit, [_ACTIVATE])
        self.computer.time.advance(9 * MINUTE)
        status = self.computer.client.status
        assert isinstance(status, Running)
        self.assertEqual((status.machine_limit_reached or {})["portal_url"], "https://x/portal/")
        self.computer.remote.behave()
        self.computer.time.advance(7 * HOUR)
        sent = [call.received.body for call in self.computer.calls(_ACTIVATE) if call.received]
        self.assertEqual([body.get("hostname_hint") for body in sent], ["Studio Mac", None, None])
        self.assertEqual((self.count(_HEARTBEAT), self.computer.remote.activations), (0, 2))

    def test_a_machine_id_that_cannot_be_read(self) -> None:
        """Activate fails with an error; a stored license continues with the token that it has."""

        def fail() -> str:
            raise MachineIdUnreadable("no hardware UUID")

        self.computer.activate()
        self.computer.client.close()
        self.computer.open(machine_id=fail)
        self.assertEqual(self.computer.retry().kind, "running")
        with self.assertRaises(MachineIdUnreadable):
            self.computer.activate()
        self.computer.client.close()
        self.computer.open(machine_id=lambda: "8F0C2A11-3B5D-4E7F-9A1B-2C3D4E5F6071")
        with self.assertRaisesRegex(ValueError, "SHA-256"):
            self.computer.activate()
        self.assertEqual((self.count(_ACTIVATE), self.count(_HEARTBEAT)), (1, 1))

    def test_a_sleep_during_a_write(self) -> None:
        """A confirmation corrects the clock before a write, during which the computer may sleep."""
        computer, write = self.computer, FileStorage.write
        computer.activate()
        computer.client.report_crash({"crash_kind": "native"})

        def sleep(storage: FileStorage, state: State, changed: AbstractSet[str], late: AbstractSet[str]) -> State:
            computer.time.wall += DAY
            return write(storage, state, changed, late)

        with patch.object(FileStorage, "write", sleep):
            computer.retry()
        self.assertEqual(self.state()["time"]["clock_ahead_seconds"], 0)

    def test_the_time_of_the_expiry_of_a_manifest(self) -> None:
        """An expiry is compared with the later of the clock and the time seen: neither alone makes an expired manifest valid."""
        computer = self.computer
        computer.activate()
        computer.remote.publish(version="3.2.0")
        self.assertTrue(computer.client.check_for_update().is_available)
        computer.remote.clock_error_ms = 91 * DAY
        computer.retry()
        self.assertEqual(computer.client.check_for_update().reason, "expired")
        computer.remote.clock_error_ms = -91 * DAY
        computer.time.wall += 91 * DAY
        computer.retry()
        self.assertEqual(computer.client.check_for_update().reason, "expired")

    def test_two_processes_and_a_clock_that_is_ahead(self) -> None:
        """A process that was started before the activation in another one does not store the wrong time of its clock."""
        computer = self.computer
        computer.client.close()
        computer.set_clock(365 * DAY)
        computer.open()
        first = computer.client
        computer.open()
        computer.activate()
        computer.client.close()
        first.check_for_update()
        first.close()
        computer.remote.refuse()
        self.assertEqual(computer.open().kind, "running")

    def test_the_clock_values_of_the_other_process(self) -> None:
        """A process does not overwrite those of one that was confirmed later: they correct a clock that is permanently ahead."""
        computer = self.computer
        computer.activate()
        first = computer.client
        computer.open()
        computer.time.wall += HOUR
        computer.set_clock(365 * DAY)
        computer.retry()
        computer.remote.refuse()
        first.heartbeat_now()
        computer.client.close()
        first.close()
        computer.time.wall += HOUR
        self.assertEqual(computer.open().kind, "running")

    def test_activate_while_the_file_cannot_be_read(self) -> None:
        """The file is read again every 30 seconds; only a confirmed activation replaces it."""
        computer = self.computer
        computer.activate()
        computer.client.close()
        license = computer.state_file.read_bytes()
        computer.state_file.unlink()
        computer.state_file.mkdir()
        self.assertEqual(computer.open().kind, "not_activated")
        computer.remote.misbehave(_at_limit, [_ACTIVATE])
        with self.assertRaises(LicenseProblem):
            computer.activate()
        computer.client.waiting_activation.cancel()
        self.assertTrue(computer.state_file.is_dir())
        # Once the file can be read, the license is there.
        computer.state_file.rmdir()
        computer.state_file.write_bytes(license)
        computer.time.advance(31 * SECOND)
        self.assertEqual(computer.client.status.kind, "running")
        # The other way: Activate is confirmed while the file cannot be read.
        computer.client.close()
        computer.state_file.unlink()
        computer.state_file.mkdir()
        computer.remote.behave()
        computer.open()
        self.assertEqual(computer.activate().kind, "running")
        computer.time.advance(31 * SECOND)
        self.assertEqual((computer.client.status.kind, self.count(_HEARTBEAT)), ("running", 0))
        computer.state_file.rmdir()
        computer.time.advance(7 * HOUR)
        self.assertEqual(self.state()["license"]["license_key"], KEY)


class FullLicense(ClientTest):
    """docs/clients.md#a-full-license"""

    def setUp(self) -> None:
        super().setUp()
        self.computer.remote.misbehave(_at_limit, [_ACTIVATE])

    def click(self) -> None:
        with self.assertRaises(LicenseProblem):
            self.computer.activate()

    def test_the_activation_is_repeated(self) -> None:
        self.click()
        self.computer.time.advance(21 * SECOND)
        self.assertEqual(self.count(_ACTIVATE), 5)
        self.computer.remote.behave()
        self.computer.time.advance(5 * SECOND)
        self.assertEqual(self.computer.client.status.kind, "running")
        self.computer.time.advance(MINUTE)
        self.assertEqual(self.count(_ACTIVATE), 6)

    def test_it_ends_after_ten_minutes(self) -> None:
        """By the wall clock or by the monotonic clock, whichever is earlier."""
        self.click()
        self.computer.time.advance(HOUR)
        # Every 5 s for ten minutes.
        self.assertIn(self.count(_ACTIVATE), range(120, 123))
        for clock in ("wall", "elapsed"):
            self.click()
            made = self.count(_ACTIVATE)
            setattr(self.computer.time, clock, getattr(self.computer.time, clock) + 11 * MINUTE)
            self.computer.time.advance(MINUTE)
            self.assertEqual(self.count(_ACTIVATE), made, clock)

    def test_it_ends_with_the_window_or_another_answer(self) -> None:
        self.click()
        self.computer.client.waiting_activation.cancel()
        self.computer.time.advance(MINUTE)
        self.assertEqual(self.count(_ACTIVATE), 1)
        self.click()
        self.computer.remote.misbehave(lambda exchange: exchange.problem(403, "license_refunded", "stop"), [_ACTIVATE])
        self.computer.time.advance(MINUTE)
        self.assertEqual(self.count(_ACTIVATE), 3)

    def test_it_ends_while_it_waits_for_another_call(self) -> None:
        """The user closes the window while the repetition waits for its turn: it is not sent."""
        turn = CallQueue.turn

        def wait(queue: CallQueue) -> ContextManager[None]:
            self.computer.client.waiting_activation.cancel()
            return turn(queue)

        self.click()
        self.computer.remote.behave()
        with patch.object(CallQueue, "turn", wait):
            self.computer.time.advance(5 * SECOND)
        self.assertEqual((self.count(_ACTIVATE), self.computer.client.status.kind), (1, "not_activated"))

    def test_it_continues_after_no_answer_and_after_client_action_retry(self) -> None:
        self.click()
        self.computer.remote.misbehave(lambda exchange: exchange.cut(), [_ACTIVATE])
        self.computer.time.advance(11 * SECOND)
        self.assertEqual(self.count(_ACTIVATE), 3)
        self.computer.remote.misbehave(lambda exchange: exchange.problem(503, "unavailable", "retry"), [_ACTIVATE])
        self.computer.time.advance(5 * SECOND)
        # After `retry` the client waits a minute, not 5 seconds.
        self.computer.time.advance(58 * SECOND)
        self.assertEqual(self.count(_ACTIVATE), 4)
        self.computer.time.advance(2 * SECOND)
        self.assertEqual(self.count(_ACTIVATE), 5)

    def test_it_observes_a_longer_retry_after_and_waits_a_minute_after_reactivate(self) -> None:
        for seconds, answer in (
            (120, lambda exchange: exchange.page(503, {"retry-after": "120"})),
            (60, lambda exchange: exchange.problem(403, "token_invalid", "reactivate")),
        ):
            self.computer.remote.misbehave(_at_limit, [_ACTIVATE])
            self.click()
            made = self.count(_ACTIVATE)
            self.computer.remote.misbehave(answer, [_ACTIVATE])
            self.computer.time.advance((4 + seconds) * SECOND)
            self.assertEqual(self.count(_ACTIVATE), made + 1, seconds)
            self.computer.time.advance(2 * SECOND)
            self.assertEqual(self.count(_ACTIVATE), made + 2, seconds)


class Callbacks(unittest.TestCase):
    """With real threads and timers"""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="mooring-client-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        clock = Ports().clock
        self.remote = MisbehavingService(clock.now)
        self.addCleanup(self.remote.refuse)
        self.log: List[str] = []
        self.states: List[Status] = []

    def client(self, **changes: object) -> MooringClient:
        options: Dict[str, object] = {
            "base_url": self.remote.url,
            "app": "EXAMPLE",
            "product": "com.example.app",
            "app_version": "3.1.0",
            "trusted_keys": [self.remote.key.x],
            "state_file": self.folder / "license.json",
            "log": self.log.append,
            "on_state_change": self.states.append,
            "ports": Ports(machine_id=lambda: MACHINE_ID, environment={}),
            **changes,
        }
        client = MooringClient(**options)  # type: ignore[arg-type]
        self.addCleanup(client.close)
        return client

    def in_threads(self, *works: "threading.Thread") -> None:
        for thread in works:
            thread.start()
        for thread in works:
            thread.join(30)
            self.assertFalse(thread.is_alive())

    def test_calls_of_many_threads(self) -> None:
        """One license call at a time: clicks on Retry during a heartbeat share it."""
        arrived, release, running, most, waiting = threading.Event(), threading.Event(), [0], [0], [0]
        result = Future.result

        def count_waiting(future: "Future[object]", timeout: Optional[float] = None) -> object:
            waiting[0] += 1
            # The five clicks on Retry wait for the heartbeat.
            if waiting[0] == 5:
                release.set()
            return result(future, timeout)

        def answer_slowly(exchange: Exchange) -> None:
            running[0] += 1
            most[0] = max(most[0], running[0])
            arrived.set()
            release.wait(10)
            running[0] -= 1
            self.remote.answer(exchange)

        client = self.client()
        client.activate(KEY, EMAIL)
        self.remote.misbehave(answer_slowly, [_ACTIVATE, _HEARTBEAT])
        first = threading.Thread(target=client.heartbeat_now)
        first.start()
        self.assertTrue(arrived.wait(10))
        threads = [threading.Thread(target=client.activate, args=(KEY, EMAIL)) for _ in range(2)]
        threads += [threading.Thread(target=client.heartbeat_now) for _ in range(5)]
        with patch.object(Future, "result", count_waiting):
            self.in_threads(*threads)
        first.join(10)
        self.assertEqual(most, [1])
        paths = [request.path for request in self.remote.received]
        self.assertEqual((paths.count(_ACTIVATE), paths.count(_HEARTBEAT)), (3, 1))
        self.assertEqual(client.status.kind, "running")

    def test_close_during_a_call(self) -> None:
        """`close` in two other threads ends a call that has no answer. Both return, and nothing runs afterwards."""
        arrived = threading.Event()

        def stall(exchange: Exchange) -> None:
            arrived.set()
            exchange.stall()

        client = self.client()
        client.activate(KEY, EMAIL)
        self.remote.misbehave(stall)
        errors: List[str] = []

        def activate() -> None:
            try:
                client.activate(KEY, EMAIL)
            except ServiceUnreachable as error:
                errors.append(error.reason)

        caller = threading.Thread(target=activate)
        caller.start()
        self.assertTrue(arrived.wait(10))
        self.in_threads(threading.Thread(target=client.close), threading.Thread(target=client.close))
        caller.join(30)
        self.assertEqual(errors, ["closed"])
        self.assertEqual(client.status.kind, "running")
        received = len(self.remote.received)
        with self.assertRaisesRegex(RuntimeError, "the client is closed"):
            client.activate(KEY, EMAIL)
        self.assertEqual((client.heartbeat_now().kind, client.check_for_update().reason), ("running", "unreachable"))
        client.report_crash({"crash_kind": "python"})
        self.assertEqual(len(self.remote.received), received)
        self.assertEqual(self.client().start().kind, "running")

    def test_callbacks_may_call_the_client(self) -> None:
        """A callback of a change that a heartbeat made may call `heartbeat_now`, `check_for_update` and `close`."""
        seen: List[str] = []

        def on_state_change(status: Status) -> None:
            seen.append(status.kind)
            if isinstance(status, Stopped):
                client.heartbeat_now()
                client.check_for_update()
                client.close()

        client = self.client(on_state_change=on_state_change)
        client.activate(KEY, EMAIL)
        self.remote.stop = Stop("license_refunded", "refunded")
        caller = threading.Thread(target=client.heartbeat_now)
        self.in_threads(caller)
        self.assertEqual(seen, ["not_activated", "running", "stopped"])

    def test_the_order_of_update_checks(self) -> None:
        """The results are reported in the order of the checks, also if a later check ends before the first one is reported."""
        checks: List[UpdateCheck] = []
        run = SharedCall.run

        def check_twice(shared: "SharedCall[UpdateCheck]", work: Callable[[], UpdateCheck]) -> UpdateCheck:
            check = run(shared, work)
            if check.reason == "up_to_date":
                self.remote.publish(version="3.2.0")
                self.in_threads(threading.Thread(target=client.check_for_update))
            return check

        client = self.client(on_update_check=checks.append)
        with patch.object(SharedCall, "run", check_twice):
            self.assertEqual(client.check_for_update().reason, "up_to_date")
        self.assertEqual([check.reason for check in checks], ["up_to_date", None])

    def test_update_checks_are_reported_one_at_a_time(self) -> None:
        """Another thread whose check has ended waits until the callback returns."""
        events: List[str] = []
        progress, lock = threading.Event(), threading.RLock()

        class Reporting:
            """The lock of the reports; `progress` is set when a thread has to wait for it."""

            def __enter__(self) -> None:
                if not lock.acquire(blocking=False):
                    progress.set()
                    lock.acquire()

            def __exit__(self, *_: object) -> None:
                lock.release()

        def on_update_check(_: UpdateCheck) -> None:
            events.append("begins")
            if threading.current_thread() is second:
                progress.set()
            else:
                second.start()
                self.assertTrue(progress.wait(10))
            events.append("ends")

        client = self.client(on_update_check=on_update_check)
        second = threading.Thread(target=client.check_for_update)
        with patch.object(client, "_reporting", Reporting()):
            client.check_for_update()
            second.join(10)
        self.assertEqual(events, ["begins", "ends"] * 2)

    def test_a_crash_during_the_telemetry_callback(self) -> None:
        """A crash that another thread reports while the telemetry is read is kept for the next heartbeat."""

        def telemetry() -> Dict[str, object]:
            if not self.remote.received[1:]:
                self.in_threads(threading.Thread(target=client.report_crash, args=({"crash_kind": "native"},)))
            return {}

        client = self.client(telemetry=telemetry)
        client.activate(KEY, EMAIL)
        client.heartbeat_now()
        client.heartbeat_now()
        sent = [request.telemetry for request in self.remote.received[1:]]
        self.assertEqual(sent, [{"app_version": "3.1.0"}, {"app_version": "3.1.0", "crash_kind": "native"}])

    def test_errors_of_callbacks(self) -> None:
        """They are caught. The log says that a callback failed, but not the text, which could contain personal data."""

        def fail(*_: object) -> None:
            raise ValueError("anna@example.com")

        client = self.client(on_state_change=fail, on_update_check=fail, telemetry=fail)
        client.activate(KEY, EMAIL)
        self.assertEqual(client.heartbeat_now().kind, "running")
        client.check_for_update()
        self.assertIn("a callback of the application failed", self.log)
        self.assertNotIn("anna", "".join(self.log))
        self.assertEqual(self.remote.received[-2].telemetry, {"app_version": "3.1.0"})
        silent = self.client(log=fail, state_file=self.folder / "other.json")
        silent.activate(KEY, EMAIL)
        self.assertEqual(silent.heartbeat_now().kind, "running")

    def test_telemetry_must_not_call_the_client(self) -> None:
        """The call would wait for itself, so it gets an error, which prevents no heartbeat."""
        client = self.client(telemetry=lambda: {"arch": client.heartbeat_now().kind})
        client.activate(KEY, EMAIL)
        self.assertEqual(client.heartbeat_now().kind, "running")
        self.assertIn("telemetry could not be read", "".join(self.log))

    def test_log_must_not_call_the_client(self) -> None:
        """A call that would wait for the running check of an update gets an error."""
        errors: List[str] = []

        def log(line: str) -> None:
            if not line.startswith("no update available"):
                return
            for call in (client.check_for_update, client.close):
                try:
                    call()
                except RuntimeError as error:
                    errors.append(str(error))

        client = self.client(log=log, trusted_keys=[])
        self.in_threads(threading.Thread(target=client.check_for_update, daemon=True))
        self.assertEqual(errors, ["the callbacks telemetry, log and machine_id must not call the client"] * 2)

    def test_opt_out(self) -> None:
        """An opt-out sends no telemetry, and deletes a stored crash."""
        client = self.client()
        client.activate(KEY, EMAIL)
        client.report_crash({"crash_kind": "python", "crash_log": "anna"})
        client.close()
        stored = json.loads((self.folder / "license.json").read_text())
        self.assertEqual(stored["crash"], {"crash_kind": "python"})
        ports = Ports(machine_id=lambda: MACHINE_ID, environment={"MY_APP_TELEMETRY_DISABLED": " On "})
        client = self.client(app="My app", ports=ports, telemetry=lambda: {"arch": "arm64"})
        client.heartbeat_now()
        self.assertNotIn("telemetry", self.remote.received[-1].body)
        self.assertIn("heartbeat sent (telemetry: off)", self.log)
        self.assertIsNone(json.loads((self.folder / "license.json").read_text())["crash"])

    def test_logged_codes(self) -> None:
        """A received code that has not the form of a code is not logged: it could be personal, or have a line break."""
        client = self.client()
        client.activate(KEY, EMAIL)
        unknown = "a problem whose code has an invalid form"
        for code, logged in [
            ("license_asleep", "license_asleep"),
            ("asleep\nanna@example.com", unknown),
            ("asleep\n", unknown),
            ("moor_e6s7z8kjtb3rqkx6", unknown),
            ("a" * 41, unknown),
        ]:
            self.remote.misbehave(lambda exchange, code=code: exchange.problem(403, code, "retry"))
            self.log.clear()
            client.heartbeat_now()
            self.assertEqual(self.log, ["heartbeat sent (telemetry: on)", f"heartbeat answered with {logged}"])

    def test_options(self) -> None:
        for changes, message in [
            ({"app_version": "v1"}, "app_version must be dotted numeric"),
            ({"base_url": "http://license.example"}, "base_url must be a URL with https"),
            ({"trusted_keys": ["x"]}, "each of trusted_keys and token_keys must be an Ed25519 public key"),
            ({"token_keys": [Signer.make().x + "A"]}, "each of trusted_keys and token_keys must be an Ed25519 public key"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                self.client(**changes)

    def test_the_process_may_end(self) -> None:
        """A client that was not closed keeps no process alive: its threads are daemons."""
        before = set(threading.enumerate())
        self.client().start()
        self.assertTrue(all(thread.daemon for thread in set(threading.enumerate()) - before))

    def test_a_state_file_that_cannot_be_written(self) -> None:
        """Without its folder the state is kept in memory. `with` closes the client."""
        blocked = self.folder / "file"
        blocked.write_text("")
        with self.client(state_file=os.fspath(blocked / "license.json")) as client:
            self.assertEqual(client.start().kind, "not_activated")
            self.assertEqual(client.activate(KEY, EMAIL).kind, "running")
        self.assertIn("the license state could not be written", self.log)
        with self.assertRaisesRegex(RuntimeError, "the client is closed"):
            client.activate(KEY, EMAIL)
