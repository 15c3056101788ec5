"""`machine_id`: the digest by which the service recognizes this computer (docs/clients.md#machine_id)."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Pattern, Sequence

_UUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_MACHINE_ID_FILE = re.compile(r"\A([0-9a-f]{32})\s*\Z")
_COMMAND_TIMEOUT_SECONDS = 5


class _Source(NamedTuple):
    """A source of the hardware UUID: the output of a command, or the content of a file if `command` is empty."""

    command: Sequence[str]
    file: str
    pattern: Pattern[str]


_SOURCES: Dict[str, List[_Source]] = {
    "darwin": [
        _Source(
            ["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"],
            "",
            re.compile(f'"IOPlatformUUID" = "({_UUID})"'),
        ),
    ],
    "win32": [
        _Source(
            # Windows looks for a program without a path in the current folder first.
            [r"%SystemRoot%\System32\reg.exe", "query", r"HKLM\SOFTWARE\Microsoft\Cryptography", "/v", "MachineGuid", "/reg:64"],
            "",
            re.compile(rf"MachineGuid\s+REG_SZ\s+({_UUID})"),
        ),
    ],
    # The UUID of the firmware is the last source, because only root can read it: an application that is started as root once
    # must keep its machine id.
    "linux": [
        _Source([], "/etc/machine-id", _MACHINE_ID_FILE),
        _Source([], "/var/lib/dbus/machine-id", _MACHINE_ID_FILE),
        _Source([], "/sys/class/dmi/id/product_uuid", re.compile(rf"\A({_UUID})\s*\Z")),
    ],
}


class MachineIdUnreadable(Exception):
    """No hardware UUID can be read on this computer. Nothing was sent."""


def read_machine_id(
    platform: str = sys.platform,
    run: Optional[Callable[[Sequence[str]], str]] = None,
    read: Optional[Callable[[str], str]] = None,
) -> str:
    """Returns the lower-case hex SHA-256 digest of the hardware UUID, exactly as the platform writes it.

    The UUID itself never leaves this function, not even in an error. `run` returns the output of a command, and `read` the
    content of a file; tests replace them. Raises MachineIdUnreadable.
    """
    for command, file, pattern in _SOURCES.get(platform, []):
        try:
            text = (run or _run)([_path_of(command[0]), *command[1:]]) if command else (read or _read)(file)
        except Exception:  # The next source is tried. The error is dropped, because it could contain the UUID.
            continue
        match = pattern.search(text)
        if match is not None:
            return hashlib.sha256(match.group(1).encode()).hexdigest()
    raise MachineIdUnreadable(f"no hardware UUID can be read on this computer ({platform})")


def checked_machine_id(read: Callable[[], str]) -> str:
    """Calls `read`. Raises its error, or ValueError if it returns anything but a digest, such as the UUID itself."""
    digest = read()
    if not re.fullmatch("[0-9a-fA-F]{64}", digest):
        raise ValueError("a machine id must be a SHA-256 digest in hex")
    return digest.lower()


def _path_of(program: str) -> str:
    return program.replace("%SystemRoot%", os.environ.get("SystemRoot") or r"C:\Windows")


def _run(command: Sequence[str]) -> str:
    # A windowed application must not open a console for a moment.
    flags: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_COMMAND_TIMEOUT_SECONDS,
        check=True,
        creationflags=flags,
    )
    return done.stdout.decode(errors="replace")


def _read(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")
