"""The telemetry of a heartbeat (docs/clients.md#telemetry). The list of fields is closed: other members are not sent."""

from __future__ import annotations

import re
from typing import Callable, Dict, Mapping, Optional, cast

from .json_text import safe_integer

_TELEMETRY_FIELDS: Dict[str, type] = {
    "app_version": str,
    "os_version": str,
    "mac_model": str,
    "arch": str,
    "cpu_cores": int,
    "ram_gb_bucket": str,
    "camera_count": int,
    "detector_type": str,
    "uptime_hours": int,
    "crash_count_since_last": int,
    "soc_name": str,
    "detector_compute": str,
    "recent_inference_ms": int,
    "detector_compute_units_resolved": str,
    "unlock_retry_outcome": str,
}
_CRASH_FIELDS: Dict[str, type] = {
    "crash_kind": str,
    "crash_signal": str,
    "crash_label": str,
    "crash_frame": str,
    "crash_sig": str,
    "crash_uptime_secs": int,
    "crash_frame_source": str,
    "crash_app_version": str,
    "crash_abort_reason": str,
}


def is_telemetry_disabled(app: str, environment: Mapping[str, str]) -> bool:
    """Whether the user opted out with `<APP>_TELEMETRY_DISABLED=1`. The client reads it once."""
    prefix = re.sub("[^A-Z0-9]+", "_", app.upper())
    value = environment.get(f"{prefix}_TELEMETRY_DISABLED", "").strip().lower()
    # Other usual spellings of an opt-out are accepted too.
    return value in ("1", "true", "yes", "on")


def telemetry_block(
    app_version: str,
    read: Optional[Callable[[], Mapping[str, object]]],
    crash: Optional[Mapping[str, object]],
    log: Callable[[str], None],
) -> Dict[str, object]:
    """Returns the telemetry of one heartbeat: the known fields of what the application returns and of a stored crash."""
    fields: Dict[str, object] = {}
    try:
        fields = _pick(read() if read else None, _TELEMETRY_FIELDS)
    except Exception:
        # An error of the callback must not prevent the heartbeat. It is not logged, because it could contain personal data.
        log("telemetry could not be read, sending only the version and a stored crash, if any")
    return {"app_version": app_version, **fields, **pick_crash(crash)}


def pick_crash(crash: object) -> Dict[str, object]:
    """Returns only the known fields of a crash; an empty dict if there are none."""
    return _pick(crash, _CRASH_FIELDS)


def _pick(source: object, fields: Mapping[str, type]) -> Dict[str, object]:
    members: Mapping[str, object] = cast(Mapping[str, object], source) if isinstance(source, Mapping) else {}
    return {name: members[name] for name, kind in fields.items() if _is_right(members.get(name), kind)}


def _is_right(value: object, kind: type) -> bool:
    return isinstance(value, str) if kind is str else safe_integer(value) is not None
