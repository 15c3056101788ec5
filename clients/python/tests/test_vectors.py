"""The vectors of the repository (test/vectors), as this client reads them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socketserver
import threading
import unittest
from typing import Any, Dict, List, Optional, Sequence
from unittest.mock import patch

from mooring_client.answers import Confirmation, NoAnswer, Outcome, Refusal, error_of, read_license_answer
from mooring_client.clock import SystemClock
from mooring_client.connection import Connector, check_base_url
from mooring_client.license_key import read_license_key
from mooring_client.license_token import TokenReader, machine_digest, read_token
from mooring_client.machine_id import MachineIdUnreadable, read_machine_id
from mooring_client.manifest import Running, check_manifest, is_covered
from mooring_client.problem import LicenseProblem
from mooring_client.state import SeenSequence, StoredLicense
from mooring_client.telemetry import telemetry_block
from mooring_client.time_text import format_time, parse_time
from mooring_client.transport import Transport, wait_for_end
from mooring_client.trusted_key import trusted_key
from mooring_client.version import is_above, is_version

from .support.cases import Vector, for_each, named, read_vectors


class _Clock(SystemClock):
    def __init__(self, now: Optional[str]) -> None:
        self._now = parse_time(now)

    def now(self) -> float:
        return super().now() if self._now is None else self._now


def _answer_once(vector: Vector) -> Outcome:
    """How the client reads an answer, through its own transport and a socket."""
    body = vector.get("body")
    if "body_base64" in vector:
        data = base64.b64decode(vector["body_base64"])
    else:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"HTTP/1.1 {vector['status']} X", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in vector["headers"].items()]

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write("".join(f"{line}\r\n" for line in [*lines, ""]).encode() + data)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        service = check_base_url(f"http://127.0.0.1:{server.server_address[1]}")
        transport = Transport(Connector(service), _Clock(vector.get("now")), wait_for_end)
        return read_license_answer(transport.call("POST", "/v1/heartbeat"))


def _check_problem(test: unittest.TestCase, vector: Vector) -> None:
    outcome, expected = _answer_once(vector), vector["expected"]
    assert not isinstance(outcome, Confirmation)
    test.assertEqual(isinstance(outcome, Refusal), expected["believed"])
    test.assertEqual(error_of(outcome).retry_after_seconds, expected.get("retry_after_seconds"))
    if isinstance(outcome, NoAnswer):
        return
    problem = outcome.problem
    test.assertEqual(problem.status, vector["status"])
    test.assertEqual(
        (problem.client_action, problem.code, problem.detail, dict(problem.extras)),
        (expected["client_action"], expected["code"], expected["detail"], expected["members"]),
    )
    errors = [{"pointer": error.pointer, "detail": error.detail} for error in problem.errors]
    test.assertEqual(errors, expected.get("errors", []))


_problems = read_vectors("problems.json")


@for_each(named(_problems["of_the_service"] + _problems["hostile"]), _check_problem)
class Problems(unittest.TestCase):
    """problems.json"""


def _check_confirmation(test: unittest.TestCase, vector: Vector) -> None:
    outcome, expected = _answer_once(vector), vector["expected"]
    test.assertEqual(isinstance(outcome, Confirmation), expected["believed"])
    if isinstance(outcome, Confirmation):
        read = {**outcome.__dict__, "believed": True}
        names = {*read, *expected}
        test.assertEqual({name: read.get(name) for name in names}, {name: expected.get(name) for name in names})


@for_each(named(read_vectors("confirmations.json")["cases"]), _check_confirmation)
class Confirmations(unittest.TestCase):
    """confirmations.json"""


def _check_key(test: unittest.TestCase, vector: Vector) -> None:
    # A client does not know the prefix of the service, `MOOR`, so it keeps the prefix as it was typed. A missing prefix is right
    # here too, and so is one with 0 in place of O.
    if vector["canonical"] is None:
        with test.assertRaises(LicenseProblem) as raised:
            read_license_key(vector["text"])
        test.assertEqual((raised.exception.code, raised.exception.errors[0].pointer), ("invalid_request", "/license_key"))
        return
    key = read_license_key(vector["text"])
    prefix, _, symbols = key.rpartition("_")
    test.assertEqual(symbols, vector["canonical"].rpartition("_")[2])
    read_prefix = prefix.translate(str.maketrans("OIL", "011"))
    test.assertIn(prefix if read_prefix != "M00R" else "MOOR", ("", vector["canonical"].rpartition("_")[0]))


@for_each(named(read_vectors("license-keys.json")["canonical"]), _check_key)
class LicenseKeys(unittest.TestCase):
    """license-keys.json, `canonical`"""

    def test_check_symbol(self) -> None:
        """A key is read whether or not its check symbol is correct."""
        for vector in read_vectors("license-keys.json")["check_symbol"]:
            self.assertEqual(read_license_key(vector["canonical"]), vector["canonical"])


def _check_machine_id(test: unittest.TestCase, vector: Vector) -> None:
    def read(source: str) -> str:
        if source != vector["source"]:
            raise FileNotFoundError(source)
        return str(vector["text"])

    try:
        with patch.dict(os.environ, {"SystemRoot": "%SystemRoot%"}):
            found: Optional[str] = read_machine_id(vector["platform"], lambda command: read(" ".join(command)), read)
    except MachineIdUnreadable as error:
        found = None
        # An empty text is in each message, so another one is looked for.
        test.assertNotIn(vector["text"] or "UUID of an empty file", str(error))
    test.assertEqual(found, vector["machine_id"])
    test.assertEqual(found and machine_digest(found), vector["mch"])


@for_each(named(read_vectors("machine-ids.json")["read"]), _check_machine_id)
class MachineIds(unittest.TestCase):
    """machine-ids.json, `read`"""

    def test_the_program_of_windows(self) -> None:
        """It has an absolute path: Windows would look for another one in the current folder first."""
        for environment, root in (({"SystemRoot": r"D:\Windows"}, r"D:\Windows"), ({}, r"C:\Windows")):
            programs: List[str] = []

            def run(command: Sequence[str]) -> str:
                programs.append(command[0])
                return ""

            with patch.dict(os.environ, environment, clear=True), self.assertRaises(MachineIdUnreadable):
                read_machine_id("win32", run)
            self.assertEqual(programs, [root + r"\System32\reg.exe"])


def _check_token(test: unittest.TestCase, vector: Vector) -> None:
    keys, expected = [trusted_key(x) for x in vector["token_keys"]], vector["expected"]

    def machine_id() -> str:
        if vector["machine_id"] is None:
            raise MachineIdUnreadable
        return str(vector["machine_id"])

    license = StoredLicense("", "", None, vector["token"], vector["offline_until"], None)
    reading = read_token(vector["token"], vector["offline_until"], keys)
    offline_until = parse_time(reading.offline_until)
    assert offline_until is not None
    test.assertEqual(
        {
            "claims": reading.claims and reading.claims.__dict__,
            "is_believable": reading.is_believable,
            "offline_until": format_time(offline_until),
            "is_of_another_machine": TokenReader(keys, machine_id).is_of_another_machine(license),
        },
        expected,
    )


@for_each(named(read_vectors("token-reading.json")["cases"]), _check_token)
class TokenReading(unittest.TestCase):
    """token-reading.json"""


def _seen(members: Dict[str, Any]) -> Dict[str, SeenSequence]:
    return {key: SeenSequence(seen["sequence"], seen["digest"]) for key, seen in members.items()}


def _running(state: Vector) -> Running:
    license, now = state["license"], parse_time(state["now"])
    assert now is not None
    expires_at = license and license["expires_at"]
    return Running(state["product"], state["app_version"], license is not None, expires_at, now)


def _check_manifest_vector(test: unittest.TestCase, vector: Vector) -> None:
    state, body, expected = vector["state"], vector["body"], vector["expected"]
    text = body if isinstance(body, str) else json.dumps(body)
    trusted = [trusted_key(x) for x in state["trusted_keys"]]
    check, sequences = check_manifest(text, trusted, _seen(state["seen"]), _running(state))
    offer = check.offer and {**check.offer.__dict__, "dmg": check.offer.dmg.__dict__}
    test.assertEqual(
        (check.is_available, offer, check.newest_version, check.reason),
        (expected["available"], expected.get("offer"), expected.get("newest_version"), expected.get("reason")),
    )
    test.assertEqual(sequences, _seen(expected["seen"]))


_manifests = read_vectors("manifests.json")


@for_each(named(_manifests["cases"]), _check_manifest_vector)
class Manifests(unittest.TestCase):
    """manifests.json"""

    def test_public_keys(self) -> None:
        """An application may ship these keys."""
        for vector in _manifests["public_keys"]:
            try:
                is_public_key = trusted_key(vector["x"]) is not None
            except ValueError:
                is_public_key = False
            self.assertEqual(is_public_key, vector["is_public_key"], vector["name"])

    def test_compare_versions(self) -> None:
        """Versions are compared part by part."""
        for vector in _manifests["compare_versions"]:
            a, b, sign = vector["a"], vector["b"], vector["sign"]
            self.assertEqual((is_above(a, b), is_above(b, a)), (sign > 0, sign < 0), vector["name"])

    def test_version_shapes(self) -> None:
        """A version is dotted numeric."""
        for vector in _manifests["version_shapes"]:
            self.assertEqual(is_version(vector["text"]), vector["is_version"], vector["name"])

    def test_covers(self) -> None:
        """A license covers a version by the rule of the contract."""
        for vector in _manifests["covers"]:
            running = Running("", "1", True, vector["license_expires_at"], 0)
            self.assertEqual(is_covered(vector["minimum_license_expiry"], running), vector["covered"], vector["name"])


class Telemetry(unittest.TestCase):
    """telemetry.json"""

    def test_blocks_without_dropped_members_are_sent_unchanged(self) -> None:
        blocks: List[Dict[str, Any]] = [
            case["telemetry"]
            for case in read_vectors("telemetry.json")["cases"]
            if case["expected"]["stored"]
            and len(case["telemetry"]) == len(case["expected"]["values"])
            and "app_version" in case["telemetry"]
        ]
        self.assertGreater(len(blocks), 3)
        for block in blocks:
            sent = telemetry_block(block["app_version"], lambda block=block: block, block, print)
            self.assertEqual(sent, block)

    def test_unknown_members_and_numbers_of_another_type_are_not_sent(self) -> None:
        block = {"arch": "arm64", "hostname": "annas-macbook-pro", "camera_count": True, "cpu_cores": 1.5, "os_version": 26}
        self.assertEqual(telemetry_block("3.2.0", lambda: block, None, print), {"app_version": "3.2.0", "arch": "arm64"})


class Files(unittest.TestCase):
    """Digests in the files of vectors"""

    def test_digests_of_keys(self) -> None:
        """The thumbprint of each test key is computed from its public half."""
        vectors: Sequence[Vector] = [read_vectors("token-reading.json"), read_vectors("license-tokens.json")]
        for key in [vector[name] for vector in vectors for name in ("key", "second_key")]:
            self.assertEqual(trusted_key(key["x"]).key_id, key["kid"])

    def test_digest_of_the_published_manifest(self) -> None:
        signed = _manifests["manifest"]["signed"].encode()
        self.assertEqual(hashlib.sha256(signed).hexdigest(), _manifests["signed_sha256"])
