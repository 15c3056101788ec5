"""Addresses of the web."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_TEXT = r"[^\s\x00-\x20\x7f-\x9f\ufeff\\]"
# A name, an IPv4 address, or an IPv6 address in brackets. Parsers differ on any other text.
_HOST = r"[^\s\x00-\x20\x7f-\x9f\ufeff\\/?#@:\[\]%<>^|]+|\[[0-9a-fA-F:.]+\]"


def is_web_address(value: object, schemes: str = "https?") -> bool:
    """Whether a value is an absolute URL with a host that a browser can open. `schemes` is a regular expression."""
    # No user name, space, control character or backslash: a browser reads them in another way than other programs do.
    if not isinstance(value, str) or not re.fullmatch(rf"(?:{schemes})://(?:{_HOST})(?::[0-9]*)?(?:[/?#]{_TEXT}*)?", value):
        return False
    try:
        parts = urlsplit(value)
        return bool(parts.hostname) and (parts.port is None or parts.port >= 0)
    except ValueError:
        return False
