"""What all tests share: texts with known resemblances, and brute force to compare answers with."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", max_examples=40, deadline=None, derandomize=True)
settings.load_profile("default")

WORDS = [f"{a}{b}{c}" for a in "bdfgklm" for b in "aeiou" for c in "nrst"]


def jaccard(a: set, b: set) -> float:
    """The resemblance of two sets, counted."""
    return len(a & b) / len(a | b) if a | b else 0.0


def some_texts(count: int, seed: int = 1, words: int = 60) -> list[str]:
    """Texts, a third of which are changed copies of an earlier one."""
    rng = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        if texts and rng.random() < 0.34:
            copy = rng.choice(texts).split()
            for _ in range(rng.choice([0, 0, 1, 2, 8])):
                copy[rng.randrange(len(copy))] = rng.choice(WORDS)
            texts.append(" ".join(copy))
        else:
            texts.append(" ".join(rng.choices(WORDS, k=words)))
    return texts


@pytest.fixture
def texts() -> list[str]:
    return some_texts(200)


@pytest.fixture
def run_tool() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs the tool of this package in a process."""

    def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "ringerdb", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=120, **options)  # type: ignore[call-overload]

    return run


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in a process of its own."""

    def run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    yield tmp_path / "db.ringer"
    shutil.rmtree(tmp_path, ignore_errors=True)
