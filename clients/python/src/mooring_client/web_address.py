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
        # Reading `port` raises ValueError if it is above 65535.
        parts = urlsplit(value)
        return _is_host(parts.hostname or "") and (parts.port is None or parts.port >= 0)
    except ValueError:
        return False


def _is_host(host: str) -> bool:
    """Whether a browser accepts a host, given in lower case. It reads a host whose last label is a number as an IPv4 address."""
    labels = (host[:-1] if host.endswith(".") else host).split(".")
    if ":" in host or not re.fullmatch("[0-9]+|0x[0-9a-f]*", labels[-1]):  # An IPv6 address may end with an IPv4 address.
        return host != ""
    numbers = [_number(label) for label in labels]
    # The last number has all remaining bytes: 127.1 is 127.0.0.1.
    return len(numbers) <= 4 and all(number < 256 for number in numbers[:-1]) and numbers[-1] < 256 ** (5 - len(numbers))


def _number(label: str) -> int:
    """Reads a part of an IPv4 address: 0x1f, the octal 037, or 31. Raises ValueError for any other text."""
    base = 16 if label.startswith("0x") else 8 if label.startswith("0") else 10
    digits = label[2:] if base == 16 else label
    # `int` also reads signs, spaces, `_` and the digits of other scripts.
    if not re.fullmatch("[0-9a-f]*" if base == 16 else "[0-9]+", digits):
        raise ValueError(label)
    return int(digits or "0", base)
