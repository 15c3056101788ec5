"""The state in memory and its storage."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, Callable, Set

from .state import State, highest_of
from .state_file import StateStorage


class Store:
    """A change applies to memory at once; it is then written to the storage. All methods may be called from any thread."""

    def __init__(self, storage: StateStorage, log: Callable[[str], None]) -> None:
        self._storage = storage
        self._log = log
        self._lock = threading.RLock()
        self._state = State()
        # The changed members that are not written, and those of them whose write failed before.
        self._unwritten: Set[str] = set()
        self._late: Set[str] = set()
        self.is_unread = False
        """Whether a stored state exists that could not be read; `load` may be called again."""

    @property
    def state(self) -> State:
        """The state, with the changes that could not be written."""
        return self._state

    def load(self) -> None:
        """Reads the stored state. A crash signature and sequences that were saved while it could not be read are kept."""
        with self._lock:
            state = self._storage.read()
            self.is_unread = state is None
            if state is None:
                return
            crash = state.crash if self._state.crash is None else self._state.crash
            sequences = highest_of(state.sequences, self._state.sequences)
            self._state = replace(state, crash=crash, sequences=sequences)

    def read_sequences(self) -> None:
        """Combines the stored manifest sequences with those in memory: another process may have seen a newer manifest."""
        with self._lock:
            stored = self._storage.read()
            if stored is not None:
                self._state = replace(self._state, sequences=highest_of(stored.sequences, self._state.sequences))

    def save(self, **change: Any) -> None:
        """Changes members of the state. It returns even if they could not be stored: a full disk must not stop the application."""
        with self._lock:
            changed = replace(self._state, **change)
            # A check of a manifest may have begun before another thread read or stored a higher sequence.
            self._state = replace(changed, sequences=highest_of(self._state.sequences, changed.sequences))
            self._unwritten.update(change)
            self._late.difference_update(change)
            # A state that could not be read may contain a license, so only a new license may replace it.
            if change.get("license") is not None:
                self.is_unread = False
            if self.is_unread:
                return
            try:
                self._storage.write(self._state, self._unwritten, self._late)
                self._unwritten, self._late = set(), set()
            except Exception:
                self._late = set(self._unwritten)
                self._log("the license state could not be written")
