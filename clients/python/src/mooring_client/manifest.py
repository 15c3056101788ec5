"""The checks of an update manifest, in their order (docs/clients.md#verifying-a-manifest)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Dict, List, Literal, Mapping, Optional, Sequence, Tuple

from .json_text import JsonObject, as_list, as_object, parse_object, safe_integer
from .state import SeenSequence
from .time_text import parse_time
from .trusted_key import TrustedKey, signers_of
from .version import is_above, is_version
from .web_address import is_web_address

NoUpdateReason = Literal[
    "unreachable",
    "no_version_published",
    "malformed",
    "untrusted",
    "wrong_product",
    "sequence_too_low",
    "equivocation",
    "expired",
    "up_to_date",
    "not_covered",
    "state_unreadable",
]


@dataclass(frozen=True)
class Image:
    """A file to download. Check its size in bytes and its SHA-256 (hex) before opening it."""

    url: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Offer:
    """A version that can be downloaded."""

    version: str
    dmg: Image
    minimum_license_expiry: Optional[str]


@dataclass(frozen=True)
class UpdateCheck:
    """The result of a check for an update."""

    offer: Optional[Offer] = None
    """The version to offer: the newest one that the license covers. None: no update is available."""
    reason: Optional[NoUpdateReason] = None
    """Why no update is available."""
    newest_version: Optional[str] = None
    """The newest published version; only with an offer, and with the reason `not_covered`."""

    @property
    def is_available(self) -> bool:
        """Whether there is an offer."""
        return self.offer is not None


@dataclass(frozen=True)
class Running:
    """The running application and its license."""

    product: str
    app_version: str
    has_license: bool
    license_expires_at: Optional[str]
    """None: the license never expires."""
    now: float
    """Milliseconds since 1970."""


@dataclass(frozen=True)
class _Signed:
    """The content of a manifest's signed bytes, as far as the client needs it."""

    sequence: int
    expires_at: int
    newest: Offer
    also_available: List[Offer]


def check_manifest(
    text: str, trusted: Sequence[TrustedKey], sequences: Mapping[str, SeenSequence], running: Running
) -> Tuple[UpdateCheck, Mapping[str, SeenSequence]]:
    """Makes the checks, and returns the result with the highest sequences seen, by key. Reads only signed content. Never raises."""
    manifest = parse_object(text)
    signed_text = (manifest or {}).get("signed")
    if manifest is None or not isinstance(signed_text, str):
        return _no_update("malformed"), sequences
    # A lone surrogate has no UTF-8 form. It becomes U+FFFD, as in the reference client.
    message = re.sub("[\ud800-\udfff]", "\ufffd", signed_text).encode()
    signers = signers_of(message, _signatures_of(manifest), trusted)
    if not signers:
        return _no_update("untrusted"), sequences
    content = parse_object(signed_text)
    if content is None:
        return _no_update("malformed"), sequences
    if content.get("_type") != "update-manifest/v1" or content.get("product") != running.product:
        return _no_update("wrong_product"), sequences
    signed = _read_signed(content)
    if signed is None:
        return _no_update("malformed"), sequences

    now_seen = SeenSequence(signed.sequence, hashlib.sha256(message).hexdigest())
    seen_by_keys = [sequences[key_id] for key_id in signers if key_id in sequences]
    if any(now_seen.sequence < seen.sequence for seen in seen_by_keys):
        return _no_update("sequence_too_low"), sequences
    if any(now_seen.sequence == seen.sequence and now_seen.digest != seen.digest for seen in seen_by_keys):
        return _no_update("equivocation"), sequences
    # Stored even if there is no update: an expired or uncovered manifest still excludes all older ones.
    remembered: Dict[str, SeenSequence] = {**sequences, **{key_id: now_seen for key_id in signers}}
    return _offer_of(signed, running), remembered


def is_covered(minimum_license_expiry: Optional[str], running: Running) -> bool:
    """Whether the version has no minimum, the license never expires, or it expires at or after the minimum."""
    minimum = parse_time(minimum_license_expiry)
    if minimum is None:
        return True
    if not running.has_license:
        return False
    expires_at = parse_time(running.license_expires_at)
    return expires_at is None or expires_at >= minimum


def _offer_of(signed: _Signed, running: Running) -> UpdateCheck:
    if running.now >= signed.expires_at:
        return _no_update("expired")
    newest = signed.newest
    if not is_above(newest.version, running.app_version):
        return _no_update("up_to_date")
    # The newest version that the license covers is offered. The choice is made here, so the service does not learn it.
    best: Optional[Offer] = None
    for offer in [newest, *signed.also_available]:
        is_offered = is_above(offer.version, running.app_version) and is_covered(offer.minimum_license_expiry, running)
        if is_offered and (best is None or is_above(offer.version, best.version)):
            best = offer
    if best is None:
        return UpdateCheck(reason="not_covered", newest_version=newest.version)
    return UpdateCheck(offer=best, newest_version=newest.version)


def _no_update(reason: NoUpdateReason) -> UpdateCheck:
    return UpdateCheck(reason=reason)


def _signatures_of(manifest: JsonObject) -> List[object]:
    # Each `signature` in `signatures`, unchecked. The member `signature` of the manifest itself is a copy of the first one.
    # The members `key_id` are not read, because they are not signed.
    return [(as_object(entry) or {}).get("signature") for entry in as_list(manifest.get("signatures"))]


def _read_signed(content: JsonObject) -> Optional[_Signed]:
    sequence, expires_at = safe_integer(content.get("sequence")), parse_time(content.get("expires_at"))
    newest, others = _read_offer(content), content.get("also_available")
    if sequence is None or sequence < 0 or expires_at is None or newest is None or not isinstance(others, list):
        return None
    offers = [_read_offer(entry) for entry in as_list(content.get("also_available"))]
    complete = [offer for offer in offers if offer is not None]
    return _Signed(sequence, expires_at, newest, complete) if len(complete) == len(offers) else None


def _read_offer(value: object) -> Optional[Offer]:
    entry = as_object(value) or {}
    version, dmg = entry.get("version"), as_object(entry.get("dmg")) or {}
    url, size, sha256 = dmg.get("url"), safe_integer(dmg.get("size")), dmg.get("sha256")
    # 0 takes the place of a missing member, which is invalid; null means that there is no minimum.
    minimum = entry.get("minimum_license_expiry", 0)
    if not isinstance(version, str) or not is_version(version) or not isinstance(url, str) or not is_web_address(url, "https"):
        return None
    if size is None or size < 0 or not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
        return None
    if minimum is not None and parse_time(minimum) is None:
        return None
    return Offer(version, Image(url, size, sha256), minimum if isinstance(minimum, str) else None)
