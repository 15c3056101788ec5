"""The state file: whole, private, shared by two processes, and never lost because it cannot be read for a moment."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path
from typing import AbstractSet, List, Optional
from unittest.mock import patch

from mooring_client.file_lock import locked
from mooring_client.state import SeenSequence, State, StoredLicense, StoredStop, StoredTime, format_state, parse_state
from mooring_client.state_file import FileStorage
from mooring_client.store import Store

LICENSE = StoredLicense("MOOR_E6S7-Z8KJ-TB3R-QKX6", "buyer@example.com", None, "t.o.k", "2026-11-27T13:00:00Z", None)
STOP = StoredStop("license_refunded", "It was refunded.", {"seats": 3, "more": [None, {"a": "b"}]}, "K", "m", "3.1.0")
FULL = State(
    license=LICENSE,
    stopped=STOP,
    time=StoredTime("2026-11-20T13:00:00.000Z", 1.5),
    crash={"crash_kind": "native"},
    sequences={"key": SeenSequence(42, "5a" * 32)},
)
_SOURCES = Path(__file__).parents[1] / "src"


class FileTest(unittest.TestCase):
    """Tests with an empty folder."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="mooring-client-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "deep" / "license.json"
        self.log: List[str] = []

    def storage(self) -> FileStorage:
        return FileStorage(str(self.file), self.log.append, lambda _: None)

    def store(self) -> Store:
        store = Store(self.storage(), self.log.append)
        store.load()
        return store

    def stored(self) -> State:
        state = parse_state(self.file.read_text(encoding="utf-8"))
        assert state is not None
        return state


class Format(unittest.TestCase):
    """The form of the file is that of the reference client"""

    def test_every_member(self) -> None:
        self.assertEqual(parse_state(format_state(FULL)), FULL)
        self.assertEqual(parse_state(format_state(State())), State())
        self.assertEqual(parse_state('{"version":1}'), State())
        names = ["version", "license", "stopped", "time", "crash", "sequences"]
        self.assertEqual(list(json.loads(format_state(FULL))), names)

    def test_damaged_texts(self) -> None:
        members = json.loads(format_state(FULL))
        for path, value in [
            (("version",), 2),
            (("version",), True),
            (("license",), []),
            (("license", "token"), 7),
            (("license", "token"), ""),
            (("license", "token"), "x" * 2049),
            (("license", "token"), "\U0001f511" * 1025),
            (("license", "hostname_hint"), 7),
            (("license", "offline_until"), "soon"),
            (("license", "expires_at"), "never"),
            (("stopped",), {}),
            (("stopped", "extras"), []),
        ]:
            damaged = json.loads(json.dumps(members))
            inner = damaged if len(path) == 1 else damaged[path[0]]
            inner[path[-1]] = value
            self.assertIsNone(parse_state(json.dumps(damaged)), path)
        for text in ["", "{", "[]", "null", "[" * 100_000]:
            self.assertIsNone(parse_state(text))

    def test_members_that_are_replaced(self) -> None:
        """A damaged time, crash or sequence is replaced, and the license is still read."""
        members = {**json.loads(format_state(FULL)), "time": {"highest_seen": 7}, "crash": [], "sequences": {"key": 7}}
        self.assertEqual(parse_state(json.dumps(members)), State(license=FULL.license, stopped=FULL.stopped))

    def test_a_stop_whose_license_or_machine_is_no_text(self) -> None:
        """It counts as missing, and so does an empty text; the stop is still read."""
        for value in (5, "", None, ["K"]):
            members = json.loads(format_state(FULL))
            members["stopped"]["license_key"] = members["stopped"]["mch"] = value
            read = parse_state(json.dumps(members))
            self.assertEqual(read and read.stopped, replace(STOP, license_key=None, mch=None), value)

    def test_a_number_of_any_length(self) -> None:
        """An edited file may have one in place of any number. The license is still read, and no start fails."""
        for digits in (400, 5_000):
            for name in ("clock_ahead_seconds", "sequence"):
                text = re.sub(f'"{name}": [0-9.]+', f'"{name}": {"9" * digits}', format_state(FULL))
                read = parse_state(text)
                self.assertEqual(read and read.license, LICENSE, (digits, name))

    def test_a_number_that_is_too_large(self) -> None:
        """A number that is too large for JSON is stored as null; half a surrogate pair is kept."""
        state = State(stopped=StoredStop("asleep", "\ud800", {"large": float("inf"), "list": [float("-inf"), 1]}))
        read = parse_state(format_state(state))
        self.assertEqual(read and read.stopped, StoredStop("asleep", "\ud800", {"large": None, "list": [None, 1]}))


class Files(FileTest):
    """One process"""

    def test_it_is_private_and_complete(self) -> None:
        self.assertEqual(self.storage().read(), State())
        self.file.parent.mkdir(mode=0o700)
        leftover = Path(f"{self.file}.{os.getpid()}.tmp")
        leftover.write_text("left by a crash")
        leftover.chmod(0o644)
        self.storage().write(FULL, {"license"})
        self.assertEqual(self.storage().read(), FULL)
        self.assertEqual(sorted(os.listdir(self.file.parent)), ["license.json", "license.json.lock"])
        if os.name == "posix":
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (self.file, self.file.parent)]
            self.assertEqual(modes, [0o600, 0o700])

    def test_a_write_that_fails(self) -> None:
        """A write that fails keeps the old state, leaves no temporary file, and is repeated with the next change."""
        store = self.store()
        store.save(license=LICENSE)
        with patch("os.replace", side_effect=OSError), patch("os.fsync"):
            store.save(stopped=FULL.stopped)
        self.assertEqual(self.log, ["the license state could not be written"])
        self.assertEqual((store.state.stopped, self.stored()), (FULL.stopped, State(license=LICENSE)))
        self.assertEqual(sorted(os.listdir(self.file.parent)), ["license.json", "license.json.lock"])
        store.save(time=FULL.time)
        self.assertEqual(self.stored(), State(license=LICENSE, stopped=FULL.stopped, time=FULL.time))

    def test_a_file_that_is_locked_for_a_moment(self) -> None:
        """A virus scanner may hold the file while it is replaced. The write is tried five times."""
        store = self.store()
        replace, failures = os.replace, [PermissionError] * 4

        def replace_later(source: str, target: str) -> None:
            if failures:
                raise failures.pop()
            replace(source, target)

        with patch("os.replace", replace_later):
            store.save(license=LICENSE)
        self.assertEqual((self.stored(), self.log), (State(license=LICENSE), []))
        with patch("os.replace", side_effect=PermissionError) as attempts:
            store.save(time=FULL.time)
        self.assertEqual((attempts.call_count, self.log), (5, ["the license state could not be written"]))

    def test_a_relative_path(self) -> None:
        """The file stays where it was, although the application goes to another folder, as a dialog for files may do."""
        self.addCleanup(os.chdir, os.getcwd())
        self.file.parent.mkdir()
        os.chdir(self.file.parent)
        storage = FileStorage(self.file.name, self.log.append)
        os.chdir(self.folder)
        storage.write(FULL, {"license"})
        self.assertEqual(self.stored(), FULL)

    def test_a_file_system_without_modes(self) -> None:
        with patch("os.chmod", side_effect=PermissionError):
            self.store().save(license=LICENSE)
        self.assertEqual((self.stored(), self.log), (State(license=LICENSE), []))

    def test_a_process_that_is_killed_while_it_writes(self) -> None:
        """Its temporary file, which contains the license key, is removed by the next start, and no other file is."""
        self.store().save(license=LICENSE)
        script = """if True:
            import os, signal, sys
            from mooring_client.state import State, StoredTime
            from mooring_client.state_file import FileStorage
            os.replace = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
            FileStorage(sys.argv[1], print).write(State(time=StoredTime("2026-11-20T13:00:00.000Z", 0)), {"time"})
        """
        environment = {**os.environ, "PYTHONPATH": str(_SOURCES)}
        killed = subprocess.Popen([sys.executable, "-c", script, str(self.file)], env=environment)
        self.assertNotEqual(killed.wait(60), 0)
        leftover = Path(f"{self.file}.{killed.pid}.tmp")
        self.assertIn(LICENSE.license_key, leftover.read_text(encoding="utf-8"))
        others = [Path(f"{self.file}.tmp"), Path(f"{self.file}.1.tmp.txt"), self.folder / "deep" / "licenseXjson.1.tmp"]
        for other in others:
            other.touch()
        self.assertEqual(self.store().state, State(license=LICENSE))
        kept = {"license.json", "license.json.lock", *(other.name for other in others)}
        self.assertEqual((set(os.listdir(self.file.parent)), self.log), (kept, []))

    def test_a_temporary_file_of_the_reference_client(self) -> None:
        """It is removed once it is an hour old: that client has no lock, so a newer one may be a write in progress."""
        self.store().save(license=LICENSE)
        for age, name in [(3_700, "7-0a1b2c3d"), (3_500, "8-0a1b2c3d"), (3_700, "9-0a1b2c3"), (3_700, "-0a1b2c3d")]:
            temporary = Path(f"{self.file}.{name}.tmp")
            temporary.touch()
            os.utime(temporary, (time.time() - age,) * 2)
        self.store()
        names = ["license.json", "license.json.-0a1b2c3d.tmp", "license.json.8-0a1b2c3d.tmp", "license.json.9-0a1b2c3.tmp"]
        self.assertEqual(sorted(os.listdir(self.file.parent)), sorted([*names, "license.json.lock"]))

    def test_a_write_in_progress(self) -> None:
        """The temporary file of a process that holds the lock is not removed."""
        self.store().save(license=LICENSE)
        temporary = Path(f"{self.file}.1.tmp")
        temporary.touch()
        with locked(f"{self.file}.lock"), patch("mooring_client.file_lock._TIMEOUT_SECONDS", 0.05):
            self.assertEqual(self.store().state, State(license=LICENSE))
            self.assertTrue(temporary.exists())
        self.store()
        self.assertFalse(temporary.exists())

    def test_a_damaged_file(self) -> None:
        self.file.parent.mkdir()
        self.file.write_bytes(b"\xff{")
        self.assertEqual(self.storage().read(), State())
        self.assertEqual((self.file.exists(), self.log), (False, ["the license state is damaged and was kept aside"]))
        self.assertEqual(Path(f"{self.file}.broken").read_bytes(), b"\xff{")

    def test_a_file_that_cannot_be_read(self) -> None:
        """The read is tried five times. Only a new license overwrites the file."""
        self.file.mkdir(parents=True)
        pauses: List[float] = []
        self.assertIsNone(FileStorage(str(self.file), self.log.append, pauses.append).read())
        self.assertEqual((len(pauses), len(self.log)), (4, 1))
        store = self.store()
        self.assertTrue(store.is_unread)
        store.save(crash={"crash_kind": "python"}, sequences=FULL.sequences)
        self.assertTrue(self.file.is_dir())
        self.file.rmdir()
        self.file.write_text(format_state(State(license=LICENSE)))
        store.load()
        self.assertEqual(store.state, State(LICENSE, crash={"crash_kind": "python"}, sequences=FULL.sequences))

    def test_a_new_license_replaces_an_unread_state(self) -> None:
        class Unreadable(FileStorage):
            def read(self) -> Optional[State]:
                return None

        store = Store(Unreadable(str(self.file), self.log.append), self.log.append)
        store.load()
        store.save(time=FULL.time)
        self.assertFalse(self.file.exists())
        store.save(license=LICENSE)
        self.assertEqual(self.stored(), State(LICENSE, time=FULL.time))

    def test_an_end_of_the_process_at_any_step(self) -> None:
        """An end of the process at any step before the new file replaces the old one leaves the complete old state."""
        new = State(license=LICENSE, time=FULL.time)
        for step in ("os.open", "os.chmod", "os.fsync", "os.replace"):
            self.storage().write(FULL, {"license"})
            with patch(step, side_effect=SystemExit), self.assertRaises(SystemExit):
                self.storage().write(new, {"stopped", "time"})
            self.assertEqual(self.stored(), FULL, step)


class TwoProcesses(FileTest):
    """Two processes of one application"""

    def test_a_write_keeps_what_the_other_one_wrote(self) -> None:
        first, second = self.store(), self.store()
        first.save(license=LICENSE)
        second.save(crash=FULL.crash)
        first.save(stopped=FULL.stopped)
        self.assertEqual(self.stored(), State(LICENSE, FULL.stopped, crash=FULL.crash))
        # The confirmation of the second one removes the stop.
        second.save(license=LICENSE, stopped=None)
        self.assertIsNone(self.stored().stopped)

    def test_a_file_that_cannot_be_read_for_a_moment(self) -> None:
        """A save keeps what the other process wrote. Only a save of a new license replaces a file that cannot be read."""
        store, other = self.store(), self.store()
        other.save(license=LICENSE)
        with patch.object(Path, "read_bytes", side_effect=PermissionError):
            store.save(sequences=FULL.sequences)
        self.assertEqual((self.stored(), self.log), (State(license=LICENSE), ["the license state could not be written"]))
        store.save(crash=FULL.crash)
        self.assertEqual(self.stored(), State(license=LICENSE, crash=FULL.crash, sequences=FULL.sequences))
        with patch.object(Path, "read_bytes", side_effect=PermissionError):
            store.save(license=replace(LICENSE, token="n.e.w"))
        self.assertEqual(self.stored().license, replace(LICENSE, token="n.e.w"))

    def test_a_write_that_fails_before_the_other_one_is_confirmed(self) -> None:
        """A stop and a license that could not be written do not replace the later confirmation; a crash is written."""
        later = replace(LICENSE, token="l.a.ter", offline_until="2026-11-27T14:00:00Z")
        for change in ({"stopped": FULL.stopped}, {"license": LICENSE, "stopped": None}):
            first, second = self.store(), self.store()
            first.save(license=LICENSE, stopped=None)
            with patch("os.replace", side_effect=OSError):
                first.save(time=StoredTime(), crash=FULL.crash, **change)
            second.save(license=later, stopped=None, time=FULL.time)
            first.save(time=StoredTime())
            self.assertEqual(self.stored(), State(later, time=FULL.time, crash=FULL.crash), change)

    def test_a_process_that_was_not_confirmed_since_the_other_one(self) -> None:
        """A new stop and a new license are written; the clock values remain those of the confirmation."""
        later = replace(LICENSE, token="l.a.ter", offline_until="2026-11-27T14:00:00Z")
        first, second = self.store(), self.store()
        first.save(license=LICENSE)
        second.save(license=later, time=FULL.time)
        first.save(stopped=FULL.stopped, time=StoredTime())
        self.assertEqual(self.stored(), State(later, FULL.stopped, FULL.time))
        first.save(license=LICENSE, stopped=None, time=StoredTime())
        self.assertEqual(self.stored(), State(LICENSE))

    def test_two_computers_that_share_the_file(self) -> None:
        """Each keeps its own token while it runs, and only a confirmation replaces the one in the file."""
        first, second = self.store(), self.store()
        first.save(license=LICENSE)
        other = replace(LICENSE, token="of.another.machine")
        second.save(license=other)
        for _ in range(2):
            first.save(time=FULL.time)
            self.assertEqual((first.state.license, self.stored().license), (LICENSE, other))
        first.save(license=LICENSE)
        self.assertEqual(self.stored().license, LICENSE)

    def test_a_license_that_was_lost(self) -> None:
        """A process writes its license again if another process, without the lock, has written a state without a license."""
        store = self.store()
        store.save(license=LICENSE)
        self.file.write_text(format_state(State(crash=FULL.crash)), encoding="utf-8")
        store.save(time=FULL.time)
        self.assertEqual(self.stored(), State(LICENSE, time=FULL.time, crash=FULL.crash))

    def test_the_higher_sequence_remains(self) -> None:
        first, second = self.store(), self.store()
        first.save(sequences={"a": SeenSequence(9, "x"), "b": SeenSequence(1, "x")})
        second.save(sequences={"a": SeenSequence(8, "y"), "b": SeenSequence(2, "y")})
        self.assertEqual(self.stored().sequences, {"a": SeenSequence(9, "x"), "b": SeenSequence(2, "y")})

    def test_many_writes_of_four_processes(self) -> None:
        """None of the changes of processes that write at the same time is lost."""
        script = (
            "import sys\n"
            "from mooring_client.state import SeenSequence\n"
            "from mooring_client.state_file import FileStorage\n"
            "from mooring_client.store import Store\n"
            "store = Store(FileStorage(sys.argv[1], print), print)\n"
            "store.load()\n"
            "for number in range(1, 26):\n"
            "    own = {f'{sys.argv[2]}-{number}': SeenSequence(number, 'x')}\n"
            "    store.save(sequences={**store.state.sequences, **own})\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(_SOURCES)}
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(self.file), name], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            for name in "abcd"
        ]
        outputs = [process.communicate(timeout=120)[0] for process in processes]
        self.assertEqual(([process.returncode for process in processes], b"".join(outputs)), ([0] * 4, b""))
        self.assertEqual(len(self.stored().sequences), 100)

    def test_a_lock_that_is_not_released(self) -> None:
        """After the time limit, and without a folder, the work is done without the lock: it must not stop a paid application."""
        lock = str(self.folder / "lock")
        with locked(lock) as is_first_locked, patch("mooring_client.file_lock._TIMEOUT_SECONDS", 0.05):
            with locked(lock) as is_second_locked:
                self.assertEqual((is_first_locked, is_second_locked), (True, False))
        with locked(lock) as is_locked_again, locked(str(self.folder / "none" / "lock")) as is_locked_nowhere:
            self.assertEqual((is_locked_again, is_locked_nowhere), (True, False))

    def test_a_file_system_without_locks(self) -> None:
        """The client does not wait for a lock there: each write would take two seconds longer."""
        error = OSError(errno.ENOLCK, "No locks available")
        with patch("mooring_client.file_lock._lock", side_effect=error), patch("time.sleep") as sleep:
            with locked(str(self.folder / "lock")) as is_locked:
                self.assertEqual((is_locked, sleep.call_count), (False, 0))


class _Storage:
    """A storage that records the changed members of each write."""

    def __init__(self) -> None:
        self.writes: List[AbstractSet[str]] = []

    def read(self) -> Optional[State]:
        return State()

    def write(self, state: State, changed: AbstractSet[str], late: AbstractSet[str]) -> None:
        self.writes.append(set(changed))


class Stores(unittest.TestCase):
    """The state in memory"""

    def test_only_changed_members_are_written(self) -> None:
        storage = _Storage()
        store = Store(storage, print)
        store.load()
        store.save(time=FULL.time)
        store.save(crash=None, stopped=None)
        self.assertEqual(storage.writes, [{"time"}, {"crash", "stopped"}])

    def test_a_sequence_is_never_lowered(self) -> None:
        """An update check that began before another thread stored a higher sequence may save a lower one."""
        store = Store(_Storage(), print)
        store.save(sequences={"a": SeenSequence(9, "x"), "b": SeenSequence(1, "x")})
        store.save(sequences={"a": SeenSequence(8, "y"), "b": SeenSequence(2, "y")})
        self.assertEqual(store.state.sequences, {"a": SeenSequence(9, "x"), "b": SeenSequence(2, "y")})
