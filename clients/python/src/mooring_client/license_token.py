"""What the client reads of its token (docs/clients.md#what-a-client-reads-of-its-token)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Callable, Optional, Sequence

from .json_text import JsonObject, parse_object, safe_integer
from .state import StoredLicense
from .time_text import format_time, parse_time
from .trusted_key import TrustedKey, decode_base64url, encode_base64url

_MAX_OFFLINE_SECONDS = 7 * 86_400
"""The longest time between the issue of a token and a restart without the network, whatever the file says."""
_MAX_TIME_SECONDS = 253_402_300_799
_COMPACT_JWS = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")


@dataclass(frozen=True)
class TokenClaims:
    """The claims of a token that the client reads. Times are Unix seconds."""

    mch: str
    """The digest of the machine that the token was issued for, see `machine_digest`."""
    iat: int
    exp: int


@dataclass(frozen=True)
class TokenReading:
    """What a token allows."""

    claims: Optional[TokenClaims]
    """None if this client does not know the format of the token. The token is stored and sent back nevertheless."""
    is_believable: bool
    """False if the application ships token keys and the token fails their checks: it then starts only after a confirmation."""
    offline_until: str
    """The last moment of an offline start: the earliest of `offline_until`, `exp`, and 7 days after `iat`."""


def read_token(token: str, offline_until: str, token_keys: Sequence[TrustedKey]) -> TokenReading:
    """Reads the token of a stored license, a compact JWS. Never raises."""
    match = _COMPACT_JWS.fullmatch(token)
    header, payload, signature = match.groups() if match else ("", "", "")
    kid = (_decoded(header) or {}).get("kid")
    claims = _claims_of(_decoded(payload) or {})
    if not isinstance(kid, str) or claims is None:
        return TokenReading(None, not token_keys, offline_until)
    trusted = next((key for key in token_keys if key.key_id == kid), None)
    if trusted is not None:
        is_believable = trusted.verifies(f"{header}.{payload}".encode(), signature)
    else:
        # The service may have rotated its keys. It signs a token for 7 days at most.
        is_believable = not token_keys or claims.iat < claims.exp <= claims.iat + _MAX_OFFLINE_SECONDS
    end = min(claims.exp, claims.iat + _MAX_OFFLINE_SECONDS) * 1000
    stored_end = parse_time(offline_until)
    is_earlier = stored_end is not None and end < stored_end
    return TokenReading(claims, is_believable, format_time(end) if is_earlier else offline_until)


class TokenReader:
    """Reads tokens with the keys shipped with the application, and compares their machine with this one."""

    def __init__(self, keys: Sequence[TrustedKey], machine_id: Callable[[], str]) -> None:
        self._keys = keys
        self._machine_id = machine_id
        self._machine: Optional[str] = None

    def read(self, license: StoredLicense) -> TokenReading:
        """Reads the token of a stored license."""
        return read_token(license.token, license.offline_until, self._keys)

    def is_of_another_machine(self, license: StoredLicense) -> bool:
        """False also if the machine of the token or the id of this computer cannot be read: this must not stop the application."""
        claims = self.read(license).claims
        mch = None if claims is None else self.this_machine()
        return claims is not None and mch is not None and claims.mch != mch

    def this_machine(self) -> Optional[str]:
        """The `mch` claim of a token of this machine; None if its machine id cannot be read."""
        try:
            # It is read once, because it does not change while the process runs.
            if self._machine is None:
                self._machine = machine_digest(self._machine_id())
        except Exception:
            return None
        return self._machine


def machine_digest(machine_id: str) -> str:
    """The `mch` claim of a `machine_id` in hex."""
    digest = hashlib.sha256(b"mooring machine v1\0" + bytes.fromhex(machine_id)).digest()
    return encode_base64url(digest[:16])


def _decoded(segment: str) -> Optional[JsonObject]:
    return parse_object(decode_base64url(segment).decode("utf-8", errors="replace"))


def _claims_of(payload: JsonObject) -> Optional[TokenClaims]:
    mch, iat, exp = payload.get("mch"), _time(payload.get("iat")), _time(payload.get("exp"))
    return TokenClaims(mch, iat, exp) if isinstance(mch, str) and iat is not None and exp is not None else None


def _time(value: object) -> Optional[int]:
    seconds = safe_integer(value)
    return seconds if seconds is not None and 0 <= seconds <= _MAX_TIME_SECONDS else None
