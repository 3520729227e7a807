"""The examples of the guide and of the README do what the pages say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_guide() -> None:
    for name in ("numpy", "pyarrow", "polars", "pandas"):
        pytest.importorskip(name)
    names: dict[str, object] = {}
    found = blocks(ROOT / "docs/python.md")
    assert len(found) > 5
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST | doctest.ELLIPSIS)
    for number, block in enumerate(found):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", "docs/python.md", 0)
        assert test.examples
        said: list[str] = []
        runner.run(test, out=said.append, clear_globs=False)
        names.update(test.globs)
        assert not said, "".join(said)


@pytest.mark.parametrize("page", ["README.md", "crates/python/README.md"])
def test_the_programs_of_the_readmes(page: str) -> None:
    found = blocks(ROOT / page)
    assert found
    for block in found:
        exec(compile(block, page, "exec"), {})
