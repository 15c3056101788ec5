"""Tests of cases that are data: one test for each case, with its sentence as the name."""

from __future__ import annotations

import json
import os
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Tuple, Type, TypeVar

VECTORS = Path(os.environ.get("MOORING_VECTORS", Path(__file__).parents[4] / "test" / "vectors"))
"""The vectors of the repository. A copy of `clients/python` alone needs the variable."""

Vector = Dict[str, Any]
TestClass = TypeVar("TestClass", bound=Type[unittest.TestCase])


def read_vectors(file: str) -> Vector:
    """Reads a file of vectors."""
    vectors: Vector = json.loads((VECTORS / file).read_text(encoding="utf-8"))
    return vectors


def for_each(
    cases: Iterable[Tuple[str, Any]], check: Callable[[Any, Any], None], kind: str = "case"
) -> Callable[[TestClass], TestClass]:
    """Adds a test for each case to a class. `check` receives the test and the case."""

    def add(test_class: TestClass) -> TestClass:
        for number, (name, case) in enumerate(cases):

            def test(self: unittest.TestCase, case: Any = case) -> None:
                check(self, case)

            test.__doc__ = name
            test.__name__ = f"test_{kind}_{number}"
            setattr(test_class, test.__name__, test)
        return test_class

    return add


def named(cases: Iterable[Vector]) -> Iterable[Tuple[str, Vector]]:
    """The cases of vectors with their names."""
    return [(case["name"], case) for case in cases]
