"""Signs manifests and tokens, as the publisher and the service do."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Dict, List, Mapping, Sequence

from mooring_client import ed25519
from mooring_client.trusted_key import encode_base64url

ORDER = 2**252 + 27742317777372353535851937790883648493


@dataclass(frozen=True, eq=False)
class Signer:
    """A key pair."""

    seed: bytes

    @staticmethod
    def make() -> "Signer":
        return Signer(os.urandom(32))

    @cached_property
    def secret(self) -> int:
        """The secret number of RFC 8032, section 5.1.5."""
        digest = bytearray(hashlib.sha512(self.seed).digest()[:32])
        digest[0] &= 248
        digest[31] = (digest[31] & 127) | 64
        return int.from_bytes(digest, "little")

    @cached_property
    def public_key(self) -> bytes:
        return ed25519.encode_point(ed25519.multiply(self.secret, ed25519.BASE))

    @property
    def x(self) -> str:
        """The public key, as the member `x` of a JWK."""
        return encode_base64url(self.public_key)

    @cached_property
    def key_id(self) -> str:
        jwk = f'{{"crv":"Ed25519","kty":"OKP","x":"{self.x}"}}'
        return encode_base64url(hashlib.sha256(jwk.encode()).digest())

    def sign(self, message: bytes) -> bytes:
        """Signs a message (RFC 8032, section 5.1.6)."""
        prefix = hashlib.sha512(self.seed).digest()[32:]
        nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % ORDER
        point = ed25519.encode_point(ed25519.multiply(nonce, ed25519.BASE))
        digest = hashlib.sha512(point + self.public_key + message).digest()
        s = (nonce + int.from_bytes(digest, "little") * self.secret) % ORDER
        return point + s.to_bytes(32, "little")

    def sign_text(self, text: str) -> str:
        """Signs the UTF-8 bytes of a text. Returns base64url."""
        return encode_base64url(self.sign(text.encode()))


def image(version: str) -> Dict[str, object]:
    """The disk image of a version, as a manifest describes it."""
    return {"url": f"https://dl.example.com/App-{version}.dmg", "size": 187654321, "sha256": "5a" * 32}


CONTENT: Mapping[str, object] = {
    "_type": "update-manifest/v1",
    "product": "com.example.app",
    "sequence": 42,
    "issued_at": "2026-11-01T09:00:00Z",
    "expires_at": "2027-02-01T09:00:00Z",
    "version": "3.2.0",
    "dmg": image("3.2.0"),
    "minimum_license_expiry": None,
    "also_available": [],
    "previous": None,
}


def manifest(signers: Sequence[Signer], key_ids: Sequence[str] = (), **changes: object) -> Dict[str, object]:
    """Makes a manifest with these members of its content changed. `key_ids` replaces the ids of the signers."""
    content = {**CONTENT, **changes}
    signed = json.dumps(content)
    signatures: List[Dict[str, object]] = []
    for number, signer in enumerate(signers):
        key_id = key_ids[number] if key_ids else signer.key_id
        signatures.append({"key_id": key_id, "signature": signer.sign_text(signed)})
    outer = {
        "version": content["version"],
        "dmg_sha256": "5a" * 32,
        "minimum_license_expiry": content["minimum_license_expiry"],
    }
    return {**outer, **signatures[0], "signed": signed, "signatures": signatures}


def token(signer: Signer, mch: str, iat: int, exp: int, number: int) -> str:
    """Signs a license token."""
    header = {"alg": "Ed25519", "kid": signer.key_id, "typ": "license+jwt"}
    claims = {"sub": number, "mch": mch, "iat": iat, "exp": exp}
    signing_input = ".".join(encode_base64url(json.dumps(part).encode()) for part in (header, claims))
    return f"{signing_input}.{signer.sign_text(signing_input)}"
