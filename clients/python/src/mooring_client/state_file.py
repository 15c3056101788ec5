"""Reads and writes the state file, also while another process of the same application does."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import AbstractSet, Callable, Generator, Optional, Protocol, TypeVar

from .file_lock import locked
from .state import State, format_state, highest_of, outdated_members, parse_state

_ATTEMPTS = 5
_PAUSE_SECONDS = 0.1
_MAX_WRITE_SECONDS = 3600
"""A temporary file that is older than this belongs to no running write: a write takes far less time."""

Log = Callable[[str], None]
Result = TypeVar("Result")


class StateStorage(Protocol):
    """Reads and writes the state."""

    def read(self) -> Optional[State]:
        """Returns None if the state exists but cannot be read at the moment. Never raises."""

    def write(self, state: State, changed: AbstractSet[str], late: AbstractSet[str] = frozenset()) -> None:
        """Stores the changed members of the state. The other members may have been changed by another process since.

        `late` are the changed members whose write failed before. Raises if the state cannot be stored; the previous one then remains.
        """
        ...


class FileStorage:
    """The state in a JSON file, which only its owner can read. A file `….lock` beside it is empty.

    A process that is killed during a write leaves a file `….tmp` with the license key. The next read removes it.
    """

    def __init__(self, file: str, log: Log, pause: Callable[[float], None] = time.sleep) -> None:
        # The application may go to another folder later, as a dialog for files may do.
        self._file = Path(file).absolute()
        self._log = log
        self._pause = pause

    def read(self) -> Optional[State]:
        """Reads the state. A missing or damaged file counts as an empty state; a damaged file is renamed to `….broken`."""
        self._remove_abandoned()
        try:
            text = self._read_text()
        except OSError:
            self._log("the license state cannot be read at the moment: it will be read again")
            return None
        state = State() if text is None else parse_state(text)
        if state is not None:
            return state
        self._log("the license state is damaged and was kept aside")
        try:
            os.replace(self._file, f"{self._file}.broken")
        except OSError:
            pass  # The file is replaced by the next write.
        return State()

    def write(self, state: State, changed: AbstractSet[str], late: AbstractSet[str] = frozenset()) -> None:
        """Replaces the file, so that a crash at any moment leaves the complete old or new state."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(f"{self._file}.lock"):
            text = format_state(self._merged(state, changed, late))
            with _temporary(self._file) as temporary:
                _write_and_sync(temporary, text)
                self._with_retries(lambda: os.replace(temporary, self._file))
        _sync_folder(self._file.parent)

    def _remove_abandoned(self) -> None:
        """Deletes the temporary files of processes that were killed. Never raises."""
        pattern = re.compile(re.escape(self._file.name) + r"\.[0-9]+(-[0-9a-f]{8})?\.tmp")
        try:
            matches = [(path, pattern.fullmatch(path.name)) for path in self._file.parent.iterdir()]
        except OSError:
            return  # There is no folder yet.
        # The reference client, which adds random characters to the name, has no lock: a new file may be a write in progress.
        found = [path for path, match in matches if match and (match[1] is None or _is_old(path))]
        if not found:
            return
        with locked(f"{self._file}.lock") as is_locked:
            # Without the lock, one of them may be a write of another process that is in progress.
            for path in found if is_locked else []:
                _remove(path)

    def _merged(self, state: State, changed: AbstractSet[str], late: AbstractSet[str]) -> State:
        """The stored state with the changed members of this one, without outdated ones: another process may have written since.

        Raises OSError if the file cannot be read. It may contain a license of another process, so only a new license may
        replace it.
        """
        try:
            text = self._read_text()
        except OSError:
            if "license" not in changed:
                raise
            text = None
        stored = None if text is None else parse_state(text)
        if stored is None:
            return state
        members = {name: getattr(state, name) for name in changed - outdated_members(stored, state, changed - late)}
        # No process deletes a license. If the file has none, a process without the lock has overwritten it with an older state:
        # the license of this process is stored again.
        members.setdefault("license", stored.license or state.license)
        return replace(stored, **{**members, "sequences": highest_of(stored.sequences, state.sequences)})

    def _read_text(self) -> Optional[str]:
        """Returns None if there is no file. Raises OSError if it stays unreadable."""
        try:
            # A text that is not UTF-8 is damaged, not unreadable.
            return self._with_retries(self._file.read_bytes).decode("utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _with_retries(self, access: Callable[[], Result]) -> Result:
        """Retries, because a virus scanner or a backup may lock a file for a moment. Raises the last OSError."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return access()
            except FileNotFoundError:
                raise
            except OSError:
                self._pause(_PAUSE_SECONDS)
        return access()


@contextmanager
def _temporary(file: Path) -> Generator[Path, None, None]:
    """Yields the path of a new file beside this one, which is deleted if it is not renamed: it contains the license key."""
    temporary = Path(f"{file}.{os.getpid()}.tmp")
    try:
        yield temporary
    finally:
        _remove(temporary)


def _is_old(file: Path) -> bool:
    """Whether a file is older than any write lasts."""
    try:
        return file.stat().st_mtime < time.time() - _MAX_WRITE_SECONDS
    except OSError:
        return False  # It was renamed or removed.


def _remove(file: Path) -> None:
    try:
        file.unlink()
    except OSError:
        pass  # It was renamed or removed, or another program has opened it.


def _write_and_sync(file: Path, text: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8", newline="\n") as stream:
        try:
            os.chmod(file, 0o600)  # A file left by an earlier crash may have another mode.
        except OSError:
            pass  # Some file systems have no modes.
        stream.write(text)
        stream.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Writes the rename to the disk. On a platform that cannot do this, the old state may return after a crash."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows cannot open folders.
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
