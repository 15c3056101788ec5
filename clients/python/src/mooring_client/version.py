"""Versions of the application (docs/contract.md#versions)."""

from __future__ import annotations

import re
from typing import List

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){0,3}")
_MAX_LENGTH = 32
_PARTS = 4


def is_version(value: object) -> bool:
    """Whether a value is a text of one to four dotted numbers, with at most 32 characters."""
    return isinstance(value, str) and len(value) <= _MAX_LENGTH and _VERSION.fullmatch(value) is not None


def is_above(version: str, other: str) -> bool:
    """Whether `version` is newer than `other`. Parts are compared as numbers; missing parts are 0."""
    return _parts(version) > _parts(other)


def _parts(version: str) -> List[int]:
    parts = [int(part) for part in version.split(".")]
    return parts + [0] * (_PARTS - len(parts))
