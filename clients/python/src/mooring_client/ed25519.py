"""Verification of Ed25519 signatures: by the package `cryptography` if it is installed, else by the code below.

Both give the same result for every input (`tests/test_ed25519.py`). It is that of OpenSSL: S must be below the group order, the
equation has no cofactor, and R is compared as bytes, so no other encoding of R is accepted. The public keys are checked when
the client is created: `is_public_key` refuses an encoding that is not canonical, and the points of small order, under which
signatures for every message can be made.

Verification uses no secret, so the time that it takes does not matter.
"""

from __future__ import annotations

import hashlib
from typing import Callable, Optional, Tuple

Verify = Callable[[bytes, bytes, bytes], bool]
"""Takes a public key of 32 bytes that `is_public_key` accepts, a message, and a signature."""

# The constants of Ed25519 (RFC 8032, section 5.1).
_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT_OF_MINUS_1 = pow(2, (_P - 1) // 4, _P)

# x, y, z and t in extended coordinates: the point is (x/z, y/z), and t = xy/z.
Point = Tuple[int, int, int, int]
_NEUTRAL: Point = (0, 1, 1, 0)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is valid for the message. The key must be one that `is_public_key` accepts: it is not checked again."""
    return _backend(public_key, message, signature)


def is_public_key(key: bytes) -> bool:
    """Whether 32 bytes are the canonical encoding of a point that is not of small order."""
    point = decode_point(key) if len(key) == 32 else None
    return point is not None and not _is_neutral(multiply(8, point))


def verify_in_python(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """`verify` without a library (RFC 8032, section 5.1.7)."""
    point = decode_point(public_key)
    if point is None or len(signature) != 64:
        return False
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= _ORDER:
        return False
    digest = hashlib.sha512(r + public_key + message).digest()
    k = int.from_bytes(digest, "little") % _ORDER
    x, y, z, t = point
    # R must be S·B - k·A; the last point is -A.
    return encode_point(_sum_of_products(s, BASE, k, (-x % _P, y, z, -t % _P))) == r


def verify_with_cryptography() -> Optional[Verify]:
    """`verify` by the package `cryptography`; None if it is not installed, or if it cannot verify Ed25519 here."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        Ed25519PublicKey.from_public_bytes(encode_point(BASE))
    except Exception:  # An installation for another Python or OpenSSL fails with errors of its own.
        return None

    def verify_by_library(public_key: bytes, message: bytes, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    return verify_by_library


def decode_point(encoded: bytes) -> Optional[Point]:
    """Decodes 32 bytes (RFC 8032, section 5.1.3); None if they are not the canonical encoding of a point."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= _P:
        return None
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if v * x * x % _P != u:
        x = x * _ROOT_OF_MINUS_1 % _P
    if v * x * x % _P != u or (x == 0 and sign == 1):
        return None
    if x & 1 != sign:
        x = _P - x
    return (x, y, 1, x * y % _P)


def encode_point(point: Point) -> bytes:
    """Encodes a point as 32 bytes (RFC 8032, section 5.1.2)."""
    x, y, z, _ = point
    inverse = pow(z, _P - 2, _P)
    x, y = x * inverse % _P, y * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def multiply(factor: int, point: Point) -> Point:
    """Returns the point added to itself, `factor` times in total."""
    return _sum_of_products(factor, point, 0, _NEUTRAL)


def _sum_of_products(a: int, left: Point, b: int, right: Point) -> Point:
    # Both products share the doublings.
    both = add(left, right)
    result = _NEUTRAL
    for bit in range(max(a.bit_length(), b.bit_length()) - 1, -1, -1):
        result = add(result, result)
        bits = (a >> bit & 1, b >> bit & 1)
        if bits == (1, 1):
            result = add(result, both)
        elif bits == (1, 0):
            result = add(result, left)
        elif bits == (0, 1):
            result = add(result, right)
    return result


def add(left: Point, right: Point) -> Point:
    """Adds two points (RFC 8032, section 5.1.4). The formula is complete: it also doubles, and adds the neutral point."""
    x1, y1, z1, t1 = left
    x2, y2, z2, t2 = right
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * t1 * t2 * _D % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _is_neutral(point: Point) -> bool:
    x, y, z, _ = point
    return x % _P == 0 and (y - z) % _P == 0


def _base() -> Point:
    point = decode_point(((4 * pow(5, _P - 2, _P)) % _P).to_bytes(32, "little"))
    assert point is not None
    return point


BASE: Point = _base()
_backend: Verify = verify_with_cryptography() or verify_in_python
