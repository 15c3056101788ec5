"""Fetches the manifest and checks it. Any failure is "no update available"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional, Sequence, Union

from .answers import Answer, NoAnswer
from .json_text import parse_object
from .manifest import NoUpdateReason, Running, UpdateCheck, check_manifest
from .store import Store
from .transport import Transport
from .trusted_key import TrustedKey

_ETAG = re.compile(r'"[\x21\x23-\x7e]{1,128}"')


class _Cached(NamedTuple):
    etag: str
    text: str


@dataclass
class UpdateChecker:
    """Checks for an update; its calls must not overlap."""

    transport: Transport
    store: Store
    trusted: Sequence[TrustedKey]
    product: str
    app_version: str
    now: Callable[[], float]
    log: Callable[[str], None]
    # The last manifest, with its etag. It is kept in memory only: the server chooses the etag, and could recognize the computer
    # by an etag that is stored.
    _cached: Optional[_Cached] = None

    def check(self) -> UpdateCheck:
        """Never raises."""
        headers = {"if-none-match": self._cached.etag} if self._cached else {}
        answer = self.transport.call("GET", "/v1/manifest", headers=headers)
        text = self._text_of(answer) if isinstance(answer, Answer) else None
        check = UpdateCheck(reason=_failure_of(answer)) if text is None else self._check_manifest(text)
        if check.reason in ("malformed", "untrusted"):
            # The text may be cut but have the etag of the whole manifest. If it stayed here, each later answer would be a 304.
            self._cached = None
        self._log_reason(check)
        return check

    def _check_manifest(self, text: str) -> UpdateCheck:
        self.store.read_sequences()
        state = self.store.state
        # Coverage depends on the current license, which may have changed since the manifest was cached.
        expires_at = state.license.expires_at if state.license else None
        running = Running(self.product, self.app_version, state.license is not None, expires_at, self.now())
        check, sequences = check_manifest(text, self.trusted, state.sequences, running)
        if sequences is not state.sequences:
            self.store.save(sequences=sequences)
        # The stored state may have a higher sequence, and a license.
        is_undecided = self.store.is_unread and (check.is_available or check.reason == "not_covered")
        return UpdateCheck(reason="state_unreadable") if is_undecided else check

    def _log_reason(self, check: UpdateCheck) -> None:
        if check.reason == "equivocation":
            self.log("EQUIVOCATION: two different manifests were signed under one sequence number; no update is offered")
        elif check.reason is not None and check.reason != "up_to_date":
            self.log(f"no update available: {check.reason}")

    def _text_of(self, answer: Answer) -> Optional[str]:
        if answer.status == 304:
            return self._cached.text if self._cached else None
        if answer.status != 200:
            return None
        has_etag = answer.etag is not None and _ETAG.fullmatch(answer.etag)
        self._cached = _Cached(answer.etag, answer.text) if answer.etag is not None and has_etag else None
        return answer.text


def _failure_of(answer: Union[Answer, NoAnswer]) -> NoUpdateReason:
    is_problem = isinstance(answer, Answer) and answer.status == 404
    code = (parse_object(answer.text) or {}).get("code") if isinstance(answer, Answer) and is_problem else None
    return "no_version_published" if code == "no_version_published" else "unreachable"
