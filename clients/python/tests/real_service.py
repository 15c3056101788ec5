"""The programs of README.md and of examples/ against a real service: `npm run test:python` starts it and runs this file.

The environment has MOORING_URL, MOORING_KEY (a license for two machines) and MOORING_EMAIL.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path
from typing import List

PACKAGE = Path(__file__).parents[1]
_EXAMPLE = str(PACKAGE / "examples" / "desktop_app.py")
URL, KEY, EMAIL = (os.environ[name] for name in ("MOORING_URL", "MOORING_KEY", "MOORING_EMAIL"))
# Runs a program with its arguments. The hardware UUID is read from a file, because the computer may have none.
_WITH_A_UUID = """
import re, runpy, sys
from mooring_client import machine_id
source = machine_id._Source([], sys.argv[1], re.compile(r"(\\S+)"))
machine_id._SOURCES[sys.platform] = [source]
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class RealService(unittest.TestCase):
    """A license of two machines"""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="mooring-client-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_python(self, *arguments: str, expected: int = 0) -> str:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        output = done.stdout.decode()
        self.assertEqual(done.returncode, expected, output)
        return output

    def example(self, *arguments: str, uuid: str, expected: int = 0) -> List[str]:
        options = ["--url", URL, "--email", EMAIL, "--state", f"{uuid}/license.json", "--uuid", uuid, *arguments]
        return self.run_python(_EXAMPLE, *options, expected=expected).splitlines()

    def test_1_the_program_of_the_readme(self) -> None:
        """It has at most fifteen lines, and activates the license."""
        readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
        block = re.search("```python\n(.*?)```", readme, re.DOTALL)
        assert block is not None
        program = block.group(1)
        self.assertLessEqual(len([line for line in program.splitlines() if line]), 15)
        for shown, real in [("http://localhost:3000", URL), ("MOOR_XXXX-XXXX-XXXX-XXXX", KEY), ("ada@example.com", EMAIL)]:
            self.assertIn(shown, program)
            program = program.replace(shown, real)
        (self.folder / "example.py").write_text(program, encoding="utf-8")
        (self.folder / "uuid").write_text("00000000-0000-0000-0000-000000000001")
        output = self.run_python("-c", _WITH_A_UUID, "uuid", "example.py")
        self.assertRegex(output, r"^Running\(offline_until='20")
        self.assertTrue((self.folder / "example-license.json").exists())

    def test_2_the_example(self) -> None:
        """The example activates, is confirmed, finds the sample version, and runs again without the key."""
        with urllib.request.urlopen(f"{URL}/v1/keys") as response:
            keys = json.load(response)["keys"]
        trusted = [f"--manifest-key={key['x']}" for key in keys if key["for"] == "update-manifest"]
        self.assertEqual(self.example(uuid="second", expected=1), ["not_activated", *_NO_KEY])
        lines = self.example("--key", KEY, "--label", "Laptop", *trusted, uuid="second")
        self.assertEqual(lines[0], "not_activated")
        self.assertTrue(lines[1].startswith("running, offline until 20"), lines)
        self.assertIn("  log: heartbeat sent (telemetry: on)", lines)
        self.assertRegex(lines[-1], r"^update: [0-9]+\.[0-9]+")
        again = self.example(*trusted, uuid="second")
        self.assertTrue(again[0].startswith("running, offline until 20"), again)
        self.assertEqual(again[-1], lines[-1])

    def test_3_the_example_without_an_invented_uuid(self) -> None:
        """The example reads the hardware UUID of the computer, and says what to do if there is none."""
        options = ["--url", URL, "--email", EMAIL, "--state", "license.json", "--key", KEY]
        output = self.run_python("-c", _WITH_A_UUID, "missing", _EXAMPLE, *options, expected=1)
        self.assertRegex(output, r"(?m)^.*; for a trial, give an invented one with --uuid$")
        # The machine of the first test, which is active already.
        (self.folder / "uuid").write_text("00000000-0000-0000-0000-000000000001")
        output = self.run_python("-c", _WITH_A_UUID, "uuid", _EXAMPLE, *options)
        self.assertRegex(output, r"(?m)^running, offline until 20")

    def test_4_refusals(self) -> None:
        """A third machine and a text that is no key are refused, and a closed port is unreachable, each in a sentence."""
        lines = self.example("--key", KEY, uuid="third", expected=1)
        self.assertTrue(any(line.startswith("refused: This license is active on 2 of 2 machines") for line in lines), lines)
        lines = self.example("--key", "MOOR", uuid="third", expected=1)
        self.assertIn("  /license_key: must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX", lines)
        lines = self.example("--key", KEY, "--url", "http://127.0.0.1:1", uuid="third", expected=1)
        self.assertIn("no answer (ECONNREFUSED); this computer's license is unchanged", lines)


_NO_KEY = ["  log: no update available: untrusted", "update: untrusted"]

if __name__ == "__main__":
    unittest.main()
