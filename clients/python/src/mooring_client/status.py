"""What the application may do now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Mapping, Optional, Union

from .problem import checked_members
from .state import StoredStop


@dataclass(frozen=True)
class NotActivated:
    """The application shows the Activate control."""

    kind: Literal["not_activated"] = field(default="not_activated", init=False)


@dataclass(frozen=True)
class Running:
    """The application runs, also offline, until it is restarted after `offline_until`."""

    offline_until: str
    license_expires_at: Optional[str]
    machine_limit_reached: Optional[Mapping[str, object]] = None
    """Set if this machine could not be activated because other machines use the whole license.

    The first such refusal after `offline_until` stops the application. Let the user release a machine at `portal_url`.
    """
    kind: Literal["running"] = field(default="running", init=False)


@dataclass(frozen=True)
class NeedsNetwork:
    """The application was started after `offline_until`, or with a token that fails its checks, and was not confirmed since.

    The client keeps trying; offer Retry.
    """

    offline_until: str
    reason: str
    """The code of the last refusal, or the reason of the last missing answer; before the first one `not_asked_yet`."""
    kind: Literal["needs_network"] = field(default="needs_network", init=False)


@dataclass(frozen=True)
class Stopped:
    """The service answered a call with the action `stop`. Show `detail`; offer Retry and Activate."""

    reason: str
    """The code of the problem."""
    detail: str
    extras: Mapping[str, object]
    kind: Literal["stopped"] = field(default="stopped", init=False)


Status = Union[NotActivated, Running, NeedsNetwork, Stopped]


_OF_ONE_MACHINE = ("binding_released", "machine_limit_reached")
"""The codes of refusals that concern only one machine of the license."""


def applies_to(stop: StoredStop, license_key: str, mch: Optional[str], app_version: str) -> bool:
    """Whether a stored stop applies to this license, machine and version.

    Another process, computer or version of the application may have stored it (docs/clients.md#what-a-stored-stop-stops).
    """
    if stop.license_key not in (None, license_key):
        return False
    if stop.code in _OF_ONE_MACHINE:
        return mch is None or stop.mch in (None, mch)
    # An earlier client stored no version. The application that contained it was an earlier version than this one.
    return stop.code != "version_not_covered" or stop.app_version == app_version


def stopped_by(stop: StoredStop) -> Stopped:
    """The status after a received or stored stop. The user can edit the file, so its members are checked like a response."""
    return Stopped(stop.code, stop.detail, checked_members(stop.code, stop.extras))


def has_telemetry(status: Status) -> bool:
    """Whether a heartbeat may have telemetry: in `needs_network` only the first one, after a stop none.

    Even if a firewall refuses each body with telemetry, the application must start, and a stop must be able to end.
    """
    return isinstance(status, Running) or (isinstance(status, NeedsNetwork) and status.reason == "not_asked_yet")
