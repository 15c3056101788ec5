"""The public keys that are shipped with the application, and the signatures that they verify."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import List, Sequence

from .ed25519 import is_public_key, verify

# 32 and 64 bytes in canonical base64url: the unused bits of the last character are 0.
_PUBLIC_KEY = re.compile("[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")
_SIGNATURE = re.compile("[A-Za-z0-9_-]{85}[AQgw]")

MAX_SIGNATURES = 16
"""Limits the work for one manifest. A manifest of the publisher has one signature for each of a few keys."""


@dataclass(frozen=True)
class TrustedKey:
    """A public key shipped with the application."""

    key_id: str
    """The RFC 7638 thumbprint. It is computed from the key, because the key id in a manifest is not signed."""
    public_key: bytes

    def verifies(self, message: bytes, signature: str) -> bool:
        """Whether the signature, in canonical base64url, is valid for the message under this key."""
        return is_signature(signature) and verify(self.public_key, message, decode_base64url(signature))


def trusted_key(x: str) -> TrustedKey:
    """Reads a public key that is given as the member `x` of its JWK. Raises ValueError for any other text."""
    public_key = decode_base64url(x) if _PUBLIC_KEY.fullmatch(x) else b""
    if not is_public_key(public_key):
        raise ValueError("each of trusted_keys and token_keys must be an Ed25519 public key, given as the member x of its JWK")
    thumbprint = hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest()
    return TrustedKey(encode_base64url(thumbprint), public_key)


def signers_of(message: bytes, signatures: Sequence[object], trusted: Sequence[TrustedKey]) -> List[str]:
    """Returns the ids of the trusted keys for which one of the signatures is valid for exactly these bytes."""
    well_formed = [text for text in signatures if isinstance(text, str) and is_signature(text)][:MAX_SIGNATURES]
    return [key.key_id for key in trusted if any(key.verifies(message, text) for text in well_formed)]


def is_signature(text: str) -> bool:
    """Whether a text is 64 bytes in canonical base64url."""
    return _SIGNATURE.fullmatch(text) is not None


def encode_base64url(data: bytes) -> str:
    """Encodes bytes without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Decodes a text of base64url characters without padding. A last character that is no whole byte is ignored."""
    whole = text[:-1] if len(text) % 4 == 1 else text
    return base64.urlsafe_b64decode(whole + "=" * (-len(whole) % 4))
