"""A line of progress in terminals and notebooks."""

import io
import sys
from types import ModuleType, SimpleNamespace

import pytest

import cellveil as cv
from cellveil import live_progress
from cellveil.live_progress import LiveLine, shown_progress
from cellveil.progress import Phase


class Terminal(io.StringIO):
    def isatty(self):
        return True


def told(line):
    line.phase(Phase.SEARCH)
    line.stage("cubes & more")
    line.advance(1, 4, cost=12345.678, gap=0.25)


def test_a_terminal_gets_a_line_that_is_cleared(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with shown_progress(True) as line:
        told(line)
    text = screen.getvalue()
    assert text.startswith("\rlooking for a pattern") and "\n" not in text
    assert text.endswith("\r") and not text.split("\r")[-2].strip()


def test_files_get_nothing(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with shown_progress(True) as line:
        told(line)
    assert screen.getvalue() == ""


def test_observers_are_taken_as_they_are_and_false_is_silence():
    mine = cv.Progress()
    with shown_progress(mine) as line:
        assert line is mine
    for nothing in (None, False):
        with shown_progress(nothing) as line:
            assert type(line) is cv.Progress


@pytest.fixture
def outputs(monkeypatch):
    """What a notebook shows."""
    shown = []
    handle = SimpleNamespace(update=shown.append)
    display = ModuleType("IPython.display")
    display.HTML, display.display = str, lambda html, display_id: handle
    notebook = ModuleType("IPython")
    notebook.get_ipython, notebook.display = lambda: SimpleNamespace(kernel=object()), display
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_notebooks_get_one_output_that_changes(outputs):
    with shown_progress(True) as line:
        told(line)
    assert outputs[0].startswith("<code>looking for a pattern") and outputs[-1] == ""


def test_what_is_shown_in_notebooks_is_escaped(monkeypatch, outputs):
    monkeypatch.setattr(live_progress, "INTERVAL", 0.0)
    with shown_progress(True) as line:
        told(line)
    assert any("cubes &amp; more" in text for text in outputs)


def test_the_line_is_cleared_when_the_search_fails(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with pytest.raises(KeyboardInterrupt), shown_progress(True) as line:
        told(line)
        raise KeyboardInterrupt
    assert screen.getvalue().endswith("\r")


def test_figures_are_short():
    line = LiveLine(lambda text: None)
    told(line)
    assert line.text(80) == "looking for a pattern (cubes & more)  0:00  cost 12,350  gap 25.0 %"


def test_verbs_take_true(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    found = cv.suppress(problem, "hypercube", progress=True)
    assert found.is_safe and screen.getvalue().count("\r") > 1
    assert cv.audit(problem, found, progress=True).is_safe
    assert cv.adjust(problem, "start", progress=True).is_safe
    assert not screen.getvalue().split("\r")[-2].strip()
