"""A lock between the processes of one application. The system ends it with the process, also after a crash."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import contextmanager
from typing import IO, Generator

_TIMEOUT_SECONDS = 2.0
_PAUSE_SECONDS = 0.01
# The errors of a lock that another process holds. Any other says that the file system allows no lock.
_HELD = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EINTR, errno.EDEADLK}

if sys.platform == "win32":
    import msvcrt

    def _lock(stream: IO[bytes]) -> None:
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(stream: IO[bytes]) -> None:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(file: str) -> Generator[bool, None, None]:
    """Holds the lock of a file, which stays empty, and yields whether it was obtained.

    After two seconds, and where the folder or its file system allows no lock, the work is done without one: a lock must never
    stop a paid application.
    """
    try:
        stream = open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb")
    except OSError:
        yield False
        return
    with stream:
        yield _obtain(stream)


def _obtain(stream: IO[bytes]) -> bool:
    end = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            _lock(stream)
            return True
        except OSError as error:
            if error.errno not in _HELD or time.monotonic() >= end:
                return False
            time.sleep(_PAUSE_SECONDS)
