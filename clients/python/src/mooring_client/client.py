"""The client: connects its parts, sets the timers, and sends one license call at a time.

The file is long, because it has the description of each method that an application calls.
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
from typing import Callable, List, Mapping, Optional, Sequence

from . import schedule
from .call_queue import CallQueue, SharedCall
from .clock import NamedTimers
from .connection import Connector, check_base_url
from .license import Activation, License
from .license_token import TokenReader
from .machine_id import checked_machine_id
from .manifest import UpdateCheck
from .ports import Ports
from .schedule import CallEnd, Unconfirmed
from .seen_time import SeenTime
from .state_file import FileStorage
from .status import NeedsNetwork, NotActivated, Status, Stopped
from .store import Store
from .telemetry import is_telemetry_disabled, pick_crash, telemetry_block
from .transport import Transport
from .trusted_key import trusted_key
from .update_check import UpdateChecker
from .version import is_version
from .waiting_activation import WaitingActivation

_log = logging.getLogger("mooring_client")


class MooringClient:
    """A desktop client of Mooring. All methods may be called from any thread; each but `status` may wait for the network.

    `telemetry`, `log` and `machine_id` must not call any method; `on_state_change` and `on_update_check` may call all.
    """

    def __init__(
        self,
        *,
        base_url: str,
        app: str,
        product: str,
        app_version: str,
        trusted_keys: Sequence[str],
        state_file: "str | os.PathLike[str]",
        token_keys: Sequence[str] = (),
        telemetry: Optional[Callable[[], Mapping[str, object]]] = None,
        on_state_change: Optional[Callable[[Status], object]] = None,
        on_update_check: Optional[Callable[[UpdateCheck], object]] = None,
        log: Optional[Callable[[str], object]] = None,
        ca_file: Optional[str] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
        proxies: Optional[Mapping[str, str]] = None,
        ports: Optional[Ports] = None,
    ) -> None:
        """Makes a client, which does nothing before `start`. README.md describes each argument.

        Raises ValueError for an invalid URL, version, key or CA file.
        """
        if not is_version(app_version):
            raise ValueError("app_version must be dotted numeric, one to four parts")
        self._app_version = app_version
        self._telemetry = telemetry
        self._on_state_change = on_state_change or _ignore
        self._on_update_check = on_update_check or _ignore
        self._app_log = log or _log.info
        ports = ports or Ports()
        self._random = ports.random
        read_id = ports.machine_id
        self._machine_id = lambda: checked_machine_id(read_id)
        self._tokens = TokenReader([trusted_key(x) for x in token_keys], self._machine_id)
        self._is_telemetry_off = is_telemetry_disabled(app, ports.environment)
        self._clock = ports.clock
        self._timers = NamedTimers(ports.timers, self._log)
        self._store = Store(ports.storage or FileStorage(os.fspath(state_file), self._log), self._log)
        connector = Connector(check_base_url(base_url), ca_file, ssl_context, proxies)
        self._transport = Transport(connector, self._clock, ports.wait)
        self._updates = UpdateChecker(
            self._transport, self._store, [trusted_key(x) for x in trusted_keys], product, app_version, self._now, self._log
        )
        self.waiting_activation = WaitingActivation(self._timers, self._clock, self._activate)
        self._closing = threading.Event()
        self._queue = CallQueue()
        self._heartbeats: SharedCall[None] = SharedCall()
        self._checks: SharedCall[UpdateCheck] = SharedCall()
        self._unreported: List[UpdateCheck] = []
        self._reporting = threading.RLock()
        self._reported: Optional[Status] = None
        self._time: Optional[SeenTime] = None
        self._license: Optional[License] = None
        self._failures = 0
        self._is_open = False

    def __enter__(self) -> "MooringClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def status(self) -> Status:
        """What the application may do now. It never waits."""
        return NotActivated() if self._license is None else self._license.status

    def start(self) -> Status:
        """Decides whether the application may run and begins the background calls. Once the state is read, a repetition does nothing."""
        self._queue.check_caller()
        # An open client takes no turn. Otherwise a click on Retry would wait here for the end of a running heartbeat, and then send
        # a second one instead of sharing the first.
        if not self._is_open:
            with self._queue.turn():
                self._open()
        return self._report_status()

    def activate(self, license_key: str, email: str, hostname_hint: str = "") -> Status:
        """For the Activate button only. A refusal changes neither the status nor the stored license.

        After a refusal at the machine limit the client repeats the activation for ten minutes; `waiting_activation.cancel()`
        ends that. Raises LicenseProblem (a refusal: show `detail`), ServiceUnreachable (no answer), MachineIdUnreadable, ValueError
        if `ports.machine_id` returns no digest, or RuntimeError after `close`.
        """
        self.start()
        if self._closing.is_set():
            raise RuntimeError("the client is closed")
        return self.waiting_activation.start(Activation(license_key, email, hostname_hint.strip() or None))

    def heartbeat_now(self) -> Status:
        """For the Retry button: sends a heartbeat now, if there is a license. A confirmation ends `needs_network` or `stopped`."""
        self.start()
        self._send_heartbeat()
        return self.status

    def check_for_update(self) -> UpdateCheck:
        """Checks for an update now. A failed check does not raise: it is "no update available", with a reason."""
        self.start()
        if self._closing.is_set():
            return UpdateCheck(reason="unreachable")
        check = self._checks.run(self._check)
        self._report_checks()
        return check

    def report_crash(self, crash: Mapping[str, object]) -> None:
        """Stores the signature of an earlier crash for one heartbeat, unless the user opted out of telemetry."""
        self.start()
        if not self._is_telemetry_off and not self._closing.is_set():
            self._store.save(crash=pick_crash(crash))

    def close(self) -> None:
        """Ends the timers and the running calls, and stores the highest time seen if there is a license. It may be called again."""
        self._closing.set()
        self._timers.end()
        self._transport.close()
        self._checks.idle()
        with self._queue.turn():
            if self._license is not None:
                self._license.remember_time()

    def _activate(self, activation: Activation, is_wanted: Callable[[], bool]) -> Status:
        with self._queue.turn():
            assert self._license is not None  # `start` has opened it.
            if is_wanted():
                self._schedule_heartbeat(self._license.activate(activation))
        return self._report_status()

    def _open(self) -> None:
        """Reads the state and starts the license. A state that cannot be read is read again later, unless an activation replaces it."""
        self._is_open = self._license is not None and not self._store.is_unread
        if self._closing.is_set() or self._is_open:
            return
        self._store.load()
        # An opt-out deletes the crash signature that was stored for the next heartbeat.
        if self._is_telemetry_off and self._store.state.crash is not None:
            self._store.save(crash=None)
        # Only the first attempt to open sets this timer. If each attempt set it again, the manifest might never be read.
        if self._license is None:
            self._schedule_manifest(schedule.first_manifest_ms(self._random()))
        self._license = self._make_license()
        if self._store.is_unread:
            self._timers.set("start", self.start, schedule.START_AGAIN_MS)
        self._schedule_heartbeat(self._license.start())
        self._is_open = not self._store.is_unread

    def _make_license(self) -> License:
        self._time = SeenTime(self._clock, self._store.state.time)
        return License(
            transport=self._transport,
            store=self._store,
            time=self._time,
            app_version=self._app_version,
            machine_id=self._machine_id,
            tokens=self._tokens,
            telemetry=self._read_telemetry,
            log=self._log,
        )

    def _read_telemetry(self, crash: Optional[Mapping[str, object]]) -> Optional[Mapping[str, object]]:
        if self._is_telemetry_off:
            return None
        return telemetry_block(self._app_version, self._telemetry, crash, self._log)

    def _send_heartbeat(self) -> None:
        """Sends one heartbeat at a time: calls during a heartbeat get its result."""
        self._heartbeats.run(self._heartbeat)
        self._report_status()

    def _heartbeat(self) -> None:
        with self._queue.turn():
            if not self._closing.is_set() and self._license is not None:
                self._schedule_heartbeat(self._license.heartbeat())

    def _schedule_heartbeat(self, end: CallEnd) -> None:
        """Sets the timer of the next heartbeat. Without a license, and after a `stop` until a confirmation, there is none."""
        self._timers.clear("heartbeat")
        if self._closing.is_set() or isinstance(self.status, (NotActivated, Stopped)):
            return
        self._failures = self._failures + 1 if isinstance(end, Unconfirmed) else 0
        is_waiting_for_network = isinstance(self.status, NeedsNetwork)
        delay = schedule.after_call_ms(end, is_waiting_for_network, self._failures, self._random())
        self._timers.set("heartbeat", self._send_heartbeat, delay)

    def _schedule_manifest(self, milliseconds: float) -> None:
        """The manifest is read daily in every status; no setting disables this (docs/clients.md#the-states)."""
        self._timers.set("manifest", self._read_manifest, milliseconds)

    def _read_manifest(self) -> None:
        self._schedule_manifest(schedule.next_manifest_ms(self._random()))
        self.check_for_update()

    def _check(self) -> UpdateCheck:
        check = self._updates.check()
        self._unreported.append(check)
        return check

    def _report_checks(self) -> None:
        # In order: a thread also reports the earlier checks of other threads.
        with self._reporting:
            while self._unreported:
                check = self._unreported.pop(0)
                self._call_back(lambda: self._on_update_check(check))

    def _report_status(self) -> Status:
        # In order: the last reported status is the current one.
        with self._reporting:
            status = self.status
            if status != self._reported:
                self._reported = status
                self._call_back(lambda: self._on_state_change(status))
        return status

    def _now(self) -> float:
        # The later of both. The time seen alone would follow `server_time`, so a false service that replays an old manifest could
        # send an old time with it, and the manifest would never expire.
        return max(self._clock.now(), 0 if self._time is None else self._time.now())

    def _log(self, message: str) -> None:
        try:
            self._app_log(message)
        except Exception:
            pass  # A log that cannot be written does not stop the application.

    def _call_back(self, callback: Callable[[], object]) -> None:
        try:
            callback()
        except Exception:
            self._log("a callback of the application failed")


def _ignore(_: object) -> None:
    """The callback of an application that needs none."""
