"""What the client needs of the computer."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional

from .clock import Clock, SystemClock, ThreadTimers, Timers
from .machine_id import read_machine_id
from .state_file import StateStorage
from .transport import Wait, wait_for_end


@dataclass(frozen=True)
class Ports:
    """The parts of the computer that the client uses. Tests and adaptations to other platforms replace some of them."""

    clock: Clock = field(default_factory=SystemClock)
    timers: Timers = field(default_factory=ThreadTimers)
    storage: Optional[StateStorage] = None
    """Replaces `state_file`."""
    wait: Wait = wait_for_end
    """Waits until a call has ended or its time limit has passed, and returns whether the call has ended."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    random: Callable[[], float] = random.random
    """Returns a number from 0 to below 1."""
    machine_id: Callable[[], str] = read_machine_id
    """Returns the machine id: the SHA-256 digest of the hardware UUID in hex, never the UUID itself."""
