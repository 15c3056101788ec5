"""A desktop client of Mooring: activation, heartbeat with anonymous telemetry, and the check for signed updates."""

from .client import MooringClient
from .clock import Clock, Timers
from .machine_id import MachineIdUnreadable
from .manifest import Image, NoUpdateReason, Offer, UpdateCheck
from .ports import Ports
from .problem import ClientAction, FieldError, LicenseProblem, ServiceUnreachable
from .status import NeedsNetwork, NotActivated, Running, Status, Stopped

__version__ = "0.1.0"

__all__ = [
    "ClientAction",
    "Clock",
    "FieldError",
    "Image",
    "LicenseProblem",
    "MachineIdUnreadable",
    "MooringClient",
    "NeedsNetwork",
    "NoUpdateReason",
    "NotActivated",
    "Offer",
    "Ports",
    "Running",
    "ServiceUnreachable",
    "Status",
    "Stopped",
    "Timers",
    "UpdateCheck",
]
