"""A year with a service that misbehaves (test/client/year.test.ts). `MOORING_SEED=…` repeats a year."""

from __future__ import annotations

import json
import os
import random
import unittest
from typing import List
from unittest.mock import patch

from mooring_client import Stopped

from .support.cases import for_each
from .support.computer import EMAIL, KEY
from .support.fake_time import DAY, HOUR
from .support.misbehaving_service import MACHINE_ID, Stop
from .support.year import HOSTNAME_CANARY, Year
from .support.year_faults import INVALID_VERSION

# The seed of a year with enough events for the checks of their numbers; a random year may have fewer.
_EVENTFUL_SEED = 41
_seed = os.environ.get("MOORING_SEED")
_seeds: List[int] = [int(_seed)] if _seed else [_EVENTFUL_SEED, random.SystemRandom().randrange(2**31)]


def _check_year(test: unittest.TestCase, seed: int) -> None:
    with patch("socket.gethostname") as gethostname, patch("platform.node") as node:
        year = Year(seed)
        test.addCleanup(year.computer.close)
        year.simulate(365)
        year.finish()
        test.assertEqual(year.violations, [], f"MOORING_SEED={seed}")
        gethostname.assert_not_called()
        node.assert_not_called()
    _check_privacy(test, year)
    test.assertEqual(year.computer.remote.activations, 1)
    offers = [check.offer.version for check in year.checks if check.offer]
    test.assertNotIn(INVALID_VERSION, offers)
    if seed == _EVENTFUL_SEED:
        test.assertGreater(len(offers), 20)
        test.assertGreater(len(year.computer.attempts), 700)
        test.assertGreater(min(*year.counts.values(), year.crashes.sent), 0)
    _check_that_a_stop_is_obeyed(test, year)


def _check_privacy(test: unittest.TestCase, year: Year) -> None:
    received = year.computer.remote.received
    wire = [json.dumps(request.headers) + request.raw for request in received]
    test.assertFalse([text for text in wire if HOSTNAME_CANARY in text])
    named = {request.path for request in received if KEY in request.raw or EMAIL in request.raw}
    test.assertEqual(named, {"/v1/activate"})
    # Each token begins with `eyJ`.
    for secret in (KEY, EMAIL, MACHINE_ID, "eyJ", "Studio", HOSTNAME_CANARY):
        test.assertFalse([line for line in year.computer.log if secret in line])


def _check_that_a_stop_is_obeyed(test: unittest.TestCase, year: Year) -> None:
    """The application stops, and calls again only after a restart or a retry of the user."""
    computer = year.computer

    def calls() -> int:
        return sum(attempt.path != "/v1/manifest" for attempt in computer.attempts)

    stop = Stop("license_refunded", "The purchase of this license was refunded, which ended it.")
    computer.remote.stop = stop
    computer.time.advance(13 * HOUR)
    stopped = Stopped(stop.code, stop.detail, {})
    test.assertEqual(computer.client.status, stopped)
    made = calls()
    computer.time.advance(3 * DAY)
    test.assertEqual(calls(), made)
    test.assertEqual(computer.restart(), stopped)
    test.assertEqual(calls(), made + 1)
    computer.remote.stop = None
    test.assertEqual(computer.retry().kind, "running")


@for_each(
    [
        (f"Stops no paying client, reveals no personal data and overloads no service (MOORING_SEED={seed})", seed)
        for seed in _seeds
    ],
    _check_year,
    "year",
)
class SimulatedYear(unittest.TestCase):
    """A year with a service that misbehaves"""
