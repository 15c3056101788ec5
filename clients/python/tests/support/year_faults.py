"""Faults that the service or an intermediary can have for a while, in a simulated year (test/client/year-faults.ts)."""

from __future__ import annotations

import random
from itertools import cycle
from typing import Callable, Dict, List, Sequence

from mooring_client.manifest import NoUpdateReason
from mooring_client.time_text import format_time

from .exchange import Exchange
from .fake_time import DAY, START
from .faults import FIX_PROBLEMS, NO_ANSWERS, RETRY_PROBLEMS, WRONG_SHAPES
from .misbehaving_service import PATHS, Fault, MisbehavingService
from .signer import Signer, manifest

INVALID_VERSION = "66.6.6"
"""The version of every invalid manifest, which must never be offered."""

INVALID_REASONS: Sequence[NoUpdateReason] = (
    "sequence_too_low",
    "equivocation",
    "expired",
    "wrong_product",
    "untrusted",
)
"""The reasons for which a client refuses the invalid manifests."""

_ALL_FAULTS: List[Fault] = [
    fault for table in (NO_ANSWERS, WRONG_SHAPES, RETRY_PROBLEMS, FIX_PROBLEMS) for fault in table.values()
]
_untrusted = Signer.make()
FaultAction = Callable[[MisbehavingService, random.Random], None]


def _make_invalid_manifest(reason: str, service: MisbehavingService, seen: int) -> Dict[str, object]:
    """Makes an invalid manifest. `seen` is the sequence of a valid manifest that the client has seen."""
    key, version = service.key, INVALID_VERSION
    if reason == "sequence_too_low":
        return manifest([key], sequence=0, version=version)
    if reason == "equivocation":
        return manifest([key], sequence=seen, version=version)
    if reason == "expired":
        # It is expired also by a clock that is a year behind. Its sequence is new, because the client checks the sequence first.
        service.sequence += 1
        return manifest([key], sequence=service.sequence, version=version, expires_at=format_time(START - 366 * DAY))
    # In this case and the next one, a sequence that the service has not reached yet.
    if reason == "wrong_product":
        return manifest([key], sequence=service.sequence + 9, version=version, product="com.example.other")
    # Untrusted: signed by another key, under the key id of the trusted one.
    return manifest([_untrusted], [key.key_id], sequence=service.sequence + 9, version=version)


def lose_activation(service: MisbehavingService, chance: random.Random) -> None:
    """The service no longer knows the token, and refuses the activation that the client then attempts without a click.

    The machine limit is reached or the license unknown. The application must run until the end of the old token.
    """
    service.forget_tokens()
    status, code = chance.choice([(409, "machine_limit_reached"), (404, "license_not_found")])
    service.misbehave(lambda exchange: exchange.problem(status, code, "stop"), ["/v1/activate"])


def serve_invalid_manifests(service: MisbehavingService, _: random.Random) -> None:
    """The service answers with the invalid manifests in turn, after the client has seen a valid one."""
    seen, reasons = service.sequence, cycle(INVALID_REASONS)

    def answer(exchange: Exchange) -> None:
        exchange.json(200, _make_invalid_manifest(next(reasons), service, seen))

    service.misbehave(answer, ["/v1/manifest"])


def _fault_of_all_calls(service: MisbehavingService, chance: random.Random) -> None:
    service.misbehave(chance.choice(_ALL_FAULTS))


def _fault_of_one_path(service: MisbehavingService, chance: random.Random) -> None:
    service.misbehave(chance.choice(_ALL_FAULTS), [chance.choice(PATHS)])


def _fault_of_each_call(service: MisbehavingService, chance: random.Random) -> None:
    service.misbehave(lambda exchange: chance.choice(_ALL_FAULTS)(exchange))


def _fault_of_half_of_the_calls(service: MisbehavingService, chance: random.Random) -> None:
    def answer(exchange: Exchange) -> None:
        (service.answer if chance.random() < 0.5 else chance.choice(_ALL_FAULTS))(exchange)

    service.misbehave(answer)


def _refuse(service: MisbehavingService, _: random.Random) -> None:
    service.refuse()


def _wrong_clock(service: MisbehavingService, chance: random.Random) -> None:
    service.clock_error_ms = chance.uniform(-365, 365) * DAY


def _wrong_interval(service: MisbehavingService, chance: random.Random) -> None:
    service.heartbeat_after_seconds = chance.choice([0, -1, 1, 1e12, True, "soon", None])


def _forget_tokens(service: MisbehavingService, _: random.Random) -> None:
    service.forget_tokens()


def _forget_tokens_before_some_heartbeats(service: MisbehavingService, chance: random.Random) -> None:
    # The tokens are lost before three of ten heartbeats.
    def answer(exchange: Exchange) -> None:
        if chance.random() < 0.3:
            service.forget_tokens()
        service.answer(exchange)

    service.misbehave(answer, ["/v1/heartbeat"])


FAULT_ACTIONS: Sequence[FaultAction] = [
    _fault_of_all_calls,
    _fault_of_one_path,
    _fault_of_each_call,
    _fault_of_half_of_the_calls,
    _refuse,
    _wrong_clock,
    _wrong_interval,
    lose_activation,
    _forget_tokens,
    _forget_tokens_before_some_heartbeats,
    serve_invalid_manifests,
]
