"""JSON as every client of Mooring reads it (docs/clients.md#numbers-names-and-depth).

Python's reader accepts more than JSON, and calls more things a number: `NaN`, `True` as an integer, integers of any length. The
functions here accept what the reference client accepts, and nothing else.
"""

from __future__ import annotations

import json
from typing import Dict, List, Mapping, Optional, cast

JsonObject = Dict[str, object]

MAX_DEPTH = 32
"""The deepest nesting of objects and lists in a response. The service uses at most five levels."""

_MAX_SAFE_INTEGER = 2**53 - 1
_MAX_EXACT_DIGITS = 15


def parse_object(text: str) -> Optional[JsonObject]:
    """Parses a JSON object that is nested at most 32 levels deep; None for any other text. Never raises."""
    try:
        value: object = json.loads(text, parse_constant=_refuse, parse_int=_parse_integer)
    except (ValueError, RecursionError):
        return None
    return as_object(value) if is_shallow(value, MAX_DEPTH) else None


def as_object(value: object) -> Optional[JsonObject]:
    """Returns a JSON object; None for any other value."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_list(value: object) -> List[object]:
    """Returns a list; an empty one for any other value."""
    return cast(List[object], value) if isinstance(value, list) else []


def is_shallow(value: object, levels: int) -> bool:
    """Whether objects and lists are nested at most this many levels deep."""
    if not isinstance(value, (dict, list)):
        return True
    inside = [*(as_object(cast(object, value)) or {}).values(), *as_list(cast(object, value))]
    return levels > 0 and all(is_shallow(inner, levels - 1) for inner in inside)


def safe_integer(value: object) -> Optional[int]:
    """Returns a number without a fraction from -(2^53 - 1) to 2^53 - 1 as an int, also one written as `1.0`; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER or value != int(value):
        return None
    return int(value)


def as_number(value: object) -> Optional[float]:
    """Returns a number, which may be infinite; None for any other value. `true` and `false` are no numbers."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def to_json(value: Mapping[str, object], indent: Optional[int] = None) -> str:
    """Writes an object as ASCII. A number that is too large for a double becomes null, because JSON has no infinity."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in cast(Mapping[str, object], value).items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in as_list(cast(object, value))]
    return None if isinstance(value, float) and value in (float("inf"), float("-inf")) else value


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _parse_integer(digits: str) -> object:
    # Python refuses integers of more than 4,300 digits. A double has no such limit, and is all that the client needs.
    return int(digits) if len(digits) <= _MAX_EXACT_DIGITS else float(digits)
