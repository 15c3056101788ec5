"""RFC 3339 times and HTTP dates, as whole milliseconds since 1970."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from email.utils import formatdate, parsedate_to_datetime
from typing import Optional

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: a later time has no RFC 3339 form."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAYS_OF_400_YEARS = 146_097
_RFC_3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])"
    r"(?:\.([0-9]{1,9}))?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)


def parse_time(value: object) -> Optional[int]:
    """Reads an RFC 3339 time of the calendar as milliseconds since 1970; None for any other value."""
    match = _RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    days = _days_since_1970(year, month, day)
    if days is None:
        return None
    fraction, sign, offset_hour, offset_minute = match.group(7, 8, 9, 10)
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    if sign is not None:
        offset = (int(offset_hour) * 60 + int(offset_minute)) * 60
        seconds += offset if sign == "-" else -offset
    return seconds * 1000 + int((fraction or "0").ljust(3, "0")[:3])


def _days_since_1970(year: int, month: int, day: int) -> Optional[int]:
    # `date` has no year 0, so the day is looked up in the years 400 to 799: the calendar repeats every 400 years.
    cycles, year_of_cycle = divmod(year, 400)
    try:
        ordinal = date(year_of_cycle + 400, month, day).toordinal()
    except ValueError:
        return None
    return ordinal - _EPOCH.toordinal() + (cycles - 1) * _DAYS_OF_400_YEARS


def representable(milliseconds: float) -> float:
    """Limits a time to the range that `format_time` can write and `parse_time` can read."""
    return min(max(milliseconds, 0), LATEST_MS)


def format_time(milliseconds: float) -> str:
    """Writes a `representable` time as RFC 3339 in UTC."""
    time = _EPOCH + timedelta(milliseconds=int(milliseconds))
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_http_date(value: Optional[str]) -> Optional[int]:
    """Reads an HTTP date such as `Fri, 20 Nov 2026 13:00:00 GMT` as milliseconds since 1970; None for any other text."""
    try:
        seconds = int(parsedate_to_datetime(value or "").timestamp())
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    return seconds * 1000 if formatdate(seconds, usegmt=True) == value else None


def parse_retry_after(value: Optional[str], date_header: Optional[str], now_ms: float) -> Optional[float]:
    """Reads a `retry-after` as seconds; None if it is missing or neither seconds nor an HTTP date.

    A date is relative to the `date` of the response, because this computer's clock may be wrong. `now_ms` is that clock, for a
    response without a valid `date`. `schedule` and `waiting_activation` limit the result.
    """
    if value is None:
        return None
    if re.fullmatch("[0-9]{1,12}", value):
        return int(value)
    until = parse_http_date(value)
    if until is None:
        return None
    answered_at = parse_http_date(date_header)
    return max(0.0, (until - (now_ms if answered_at is None else answered_at)) / 1000)
