"""The guarantees of the client, which each run of a year is checked against (test/client/year-guarantees.ts)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterator, List, Optional, Sequence

from mooring_client import Status

from .computer import Attempt
from .fake_time import HOUR, MINUTE, SECOND

# A call, and the call that its response may request, each time out after 10 seconds; 5 seconds are a margin.
_CALLS_TIMEOUT_MS = 25 * SECOND


@dataclass
class Run:
    """One run of the application, from its start to its end."""

    start: float
    """The start by the monotonic clock."""
    start_awake: float
    """The start by the monotonic clock, without the time during which the computer slept."""
    app_version: str
    is_telemetry_off: bool
    may_need_network: bool
    """Whether the application may need the network to start."""
    must_call_service: bool
    """Whether the client must send a heartbeat at the start, before the application runs."""
    end_awake: float = 0
    attempts: List[Attempt] = field(default_factory=lambda: list[Attempt]())
    states: List[Status] = field(default_factory=lambda: list[Status]())
    log: List[str] = field(default_factory=lambda: list[str]())


def find_violations(run: Run) -> List[str]:
    """Finds the guarantees of the client that a run violated. Returns one sentence for each."""
    calls = [attempt for attempt in run.attempts if attempt.path != "/v1/manifest"]
    heartbeats = [attempt for attempt in calls if attempt.path == "/v1/heartbeat"]
    manifests = [attempt for attempt in run.attempts if attempt.path == "/v1/manifest"]
    found = [*_check_statuses(run), *_check_start(run, heartbeats), *_check_pauses(run, calls)]
    for previous, heartbeat in zip(heartbeats, heartbeats[1:]):
        found += _check_pace(previous, _find_scheduling(calls[: calls.index(heartbeat)]), heartbeat)
    found += _check_daily_manifest(run, manifests)
    for number, call in enumerate(calls):
        found += _check_activation(call, calls[:number])
    for attempt in run.attempts:
        found += _check_members(run, attempt)
    return [*found, *_check_log(run, heartbeats)]


def _check_statuses(run: Run) -> Iterator[str]:
    kinds = [status.kind for status in run.states]
    if "stopped" in kinds:
        yield f"stopped: {run.states}"
    if "not_activated" in kinds:
        yield "it lost its license"
    if "running" in kinds and set(kinds[kinds.index("running") :]) != {"running"}:
        yield f"interrupted while it ran: {kinds}"
    if kinds[0] != "running" and not run.may_need_network:
        yield f"it needed the network too early: {kinds}"


def _check_start(run: Run, heartbeats: List[Attempt]) -> Iterator[str]:
    first = heartbeats[0] if heartbeats else None
    is_early_allowed = first is not None and (first.is_user_initiated or first.status != "running")
    if first is not None and not is_early_allowed and first.when - run.start < 2 * MINUTE:
        yield "a heartbeat within two minutes of the start"
    if run.must_call_service and (first is None or first.when != run.start):
        yield "a restart after seven days sent no heartbeat at once"


def _find_scheduling(calls: Sequence[Attempt]) -> Attempt:
    """The last call that set the time of the next heartbeat: an activation that a click requested does so only if it succeeds."""
    return [
        call
        for number, call in enumerate(calls)
        if call.path == "/v1/heartbeat"
        or (call.received and call.received.is_confirmed)
        or _is_requested(call, calls[number - 1] if number else None)
    ][-1]


def _check_pace(previous_heartbeat: Attempt, scheduling: Attempt, heartbeat: Attempt) -> Iterator[str]:
    """Two consecutive heartbeats are at least five hours apart, unless the user or the service asked for an earlier one.

    While the application waits for the network, 30 seconds are enough.

    `scheduling` is the call that set the time of the second heartbeat: the first heartbeat, or an activation.
    """
    gap = heartbeat.when - previous_heartbeat.when
    if heartbeat.is_user_initiated or gap > 5 * HOUR:
        return
    before = previous_heartbeat.received
    has_telemetry = heartbeat.received is not None and heartbeat.received.telemetry is not None
    # After a problem with the action `fix`, the client repeats the heartbeat at once, without telemetry.
    is_repetition = before is not None and before.action == "fix" and before.telemetry is not None and not has_telemetry
    if is_repetition and gap <= _CALLS_TIMEOUT_MS:
        return
    asked = scheduling.received.retry_after_seconds if scheduling.received else None
    if heartbeat.status == "needs_network":
        if gap < 30 * SECOND:
            yield f"repeated a call after {gap} ms while it waited for the network"
    elif asked is None:
        yield f"two heartbeats within {gap} ms, without a reason"
    # The client waits at least 30 seconds and at most 6 hours, whatever retry-after says.
    if gap < min(max(asked or 0, 30), 6 * 3600) * SECOND:
        yield f"a retry-after of {asked} s was not observed: the next call came after {gap} ms"


def _check_pauses(run: Run, calls: List[Attempt]) -> Iterator[str]:
    """A running application sends heartbeats: the license check cannot be switched off."""
    sent = [call.awake for call in calls if call.path == "/v1/heartbeat" or (call.received and call.received.is_confirmed)]
    times = [run.start_awake, *sent, run.end_awake]
    longest = max(later - earlier for earlier, later in zip(times, times[1:]))
    # The client limits the requested interval to 12 hours, and adds at most 5 %.
    if longest > 12.6 * HOUR + _CALLS_TIMEOUT_MS:
        yield f"no heartbeat for {longest / HOUR} hours"


def _check_daily_manifest(run: Run, manifests: List[Attempt]) -> Iterator[str]:
    daily = [attempt for attempt in manifests if not attempt.is_user_initiated]
    if daily and daily[0].when - run.start < 2 * MINUTE:
        yield "the manifest read within two minutes of the start"
    # A call that times out may delay the timer.
    if not daily and run.end_awake - run.start_awake > 20 * MINUTE + _CALLS_TIMEOUT_MS:
        yield "no manifest read after the start"
    times = [*(attempt.awake for attempt in daily), run.end_awake]
    for earlier, later in zip(times, times[1:]):
        if later - earlier > 25 * HOUR + _CALLS_TIMEOUT_MS:
            yield f"no manifest read for {(later - earlier) / HOUR} hours"
    for first, second in zip(daily, daily[1:]):
        if second.when - first.when < 23 * HOUR - _CALLS_TIMEOUT_MS:
            yield "the manifest read twice a day"


def _check_activation(call: Attempt, earlier: Sequence[Attempt]) -> Iterator[str]:
    """The client activates only after a click, or when the service has just asked for it.

    An activation that the machine limit refused is repeated for ten minutes.
    """
    if call.path != "/v1/activate" or call.is_user_initiated:
        return
    if not _is_requested(call, earlier[-1] if earlier else None) and not _is_repetition_of_click(call, earlier):
        yield f"an activation that was not asked for, at {call.when}"


def _is_requested(call: Attempt, before: Optional[Attempt]) -> bool:
    action = before.received.action if before and before.received else None
    return before is not None and action == "reactivate" and call.when - before.when <= _CALLS_TIMEOUT_MS


def _is_repetition_of_click(call: Attempt, earlier: Sequence[Attempt]) -> bool:
    """Whether the client repeats the activation of the last click, which the machine limit refused.

    Later activations that a heartbeat's `reactivate` requested do not count: they neither begin nor delay the repetitions.
    """
    clicks = [number for number, each in enumerate(earlier) if each.path == call.path and each.is_user_initiated]
    since_click = earlier[clicks[-1] :] if clicks else []
    if not since_click or since_click[0].received is None or since_click[0].received.code != "machine_limit_reached":
        return False
    repeated = [
        each
        for number, each in enumerate(since_click)
        if each.path == call.path and not _is_requested(each, since_click[number - 1] if number else None)
    ]
    return (
        call.when - since_click[0].when <= 10 * MINUTE + _CALLS_TIMEOUT_MS
        and call.when - repeated[-1].when >= 5 * SECOND
        and not any(each.received and each.received.is_confirmed for each in repeated)
    )


_MEMBERS = {
    "/v1/activate": {"license_key", "email", "machine_id", "hostname_hint", "app_version"},
    "/v1/heartbeat": {"token", "app_version", "telemetry"},
    "/v1/manifest": set[str](),
}
_TELEMETRY = {"app_version", "arch", "camera_count", "crash_kind", "crash_label"}
_HEADERS = {"accept", "accept-encoding", "connection", "host", "user-agent"}
_OTHER_HEADERS = {
    "/v1/activate": {"content-length", "content-type"},
    "/v1/heartbeat": {"content-length", "content-type"},
    "/v1/manifest": {"if-none-match"},
}


def _check_members(run: Run, attempt: Attempt) -> Iterator[str]:
    """A request has only the members and headers that the test expects."""
    received, path = attempt.received, attempt.path
    if received is None:
        return
    unexpected = (
        (set(received.body) - _MEMBERS[path])
        | (set(received.telemetry or {}) - _TELEMETRY)
        | (set(received.headers) - _HEADERS - _OTHER_HEADERS[path])
    )
    if unexpected or received.url != path:
        yield f"sent {sorted(unexpected)} to {received.url}"
    if received.headers["user-agent"] != "mooring-client":
        yield f"another user-agent: {received.headers['user-agent']}"
    if path == "/v1/manifest" and (received.method != "GET" or received.raw):
        yield "sent a body to the manifest"
    if path != "/v1/manifest" and received.body["app_version"] != run.app_version:
        yield "sent another version than that of the run"
    if run.is_telemetry_off and received.telemetry is not None:
        yield "telemetry after the opt-out"


def _check_log(run: Run, heartbeats: List[Attempt]) -> Iterator[str]:
    sent = [line for line in run.log if line.startswith("heartbeat sent")]
    if run.is_telemetry_off and any(line != "heartbeat sent (telemetry: off)" for line in sent):
        yield f"the log reports telemetry after the opt-out: {sent}"
    if len(sent) < sum(bool(call.received and call.received.is_confirmed) for call in heartbeats):
        yield "the log does not contain all heartbeats"
