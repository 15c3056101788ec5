"""Calls of several threads, one at a time."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Callable, Generator, Generic, Optional, TypeVar

Result = TypeVar("Result")

_CALLED_BY_CALLBACK = "the callbacks telemetry, log and machine_id must not call the client"


class CallQueue:
    """Runs one license call at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: Optional[int] = None

    def check_caller(self) -> None:
        """Raises RuntimeError in the thread that makes a call: it would wait for itself."""
        if self._owner == threading.get_ident():
            raise RuntimeError(_CALLED_BY_CALLBACK)

    @contextmanager
    def turn(self) -> Generator[None, None, None]:
        """Waits until no other call is running. Raises the error of `check_caller`."""
        self.check_caller()
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield
            finally:
                self._owner = None


class SharedCall(Generic[Result]):
    """Runs one call at a time: callers during a call get its result."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Optional["Future[Result]"] = None
        self._owner: Optional[int] = None

    def run(self, work: Callable[[], Result]) -> Result:
        """Returns the result of `work`, or of the call that is running. Raises RuntimeError in the thread that makes this call."""
        with self._lock:
            running = self._running
            mine: "Future[Result]" = Future()
            if running is None:
                self._running, self._owner = mine, threading.get_ident()
        if running is not None:
            self._check_caller()
            return running.result()
        try:
            result = work()
        except BaseException as error:
            self._finish(lambda: mine.set_exception(error))
            raise
        self._finish(lambda: mine.set_result(result))
        return result

    def idle(self) -> None:
        """Returns when the call that is running has ended. Raises RuntimeError in the thread that makes it."""
        with self._lock:
            running = self._running
        if running is not None:
            self._check_caller()
            running.exception()

    def _check_caller(self) -> None:
        if self._owner == threading.get_ident():
            raise RuntimeError(_CALLED_BY_CALLBACK)

    def _finish(self, report: Callable[[], None]) -> None:
        with self._lock:
            self._running = self._owner = None
        report()
