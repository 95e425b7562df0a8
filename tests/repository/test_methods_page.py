"""The tables of docs/lab/stages.md and docs/adjustment.md are those of the classes."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "methods_page.py"


def test_the_pages_are_current() -> None:
    spec = importlib.util.spec_from_file_location("methods_page", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path in module.PAGES:
        assert module.page(path) == path.read_text("utf-8"), "run python benchmarks/methods_page.py"
