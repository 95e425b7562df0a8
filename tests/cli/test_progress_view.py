"""One line of progress: what it says, at any width, and that nothing of it is left."""

import io
import re
import sys

import pytest

from cellveil.cli.progress_view import Pen, PhaseLines, progress
from cellveil.clock import Deadline
from cellveil.progress import NoteTaker, Phase, Progress, StageClock
from cellveil.progress.line import ProgressLine

PHASES = [Phase.READ, Phase.RULES, Phase.SEARCH, Phase.AUDIT, Phase.WRITE]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def searching(**figures: float) -> ProgressLine:
    line = ProgressLine()
    line.plan(PHASES)
    line.phase(Phase.SEARCH, Deadline(90))
    line.stage("branch and cut")
    line.advance(5, 10, **figures)
    return line


FOUND = {"cost": 1234567.891, "bound": 1.2e6, "gap": 0.0280001234567, "published": 0.841234}


@pytest.mark.parametrize("width", [1, 5, 12, 20, 40, 60, 80, 100, 140, 200])
def test_the_line_fits_any_width(width: int) -> None:
    text = searching(**FOUND).text(width)
    assert len(text) <= width
    if width >= 12:
        assert text.startswith("3/5 search") or text.startswith("3/5 looking for a pattern")


def test_a_wide_terminal_sees_everything() -> None:
    text = searching(**FOUND).text(200)
    assert re.fullmatch(
        r"3/5 looking for a pattern \(branch and cut\)  0:0\d  1:(29|30) left  cost 1\.23 million  gap 2\.8 %"
        r"  84\.1 % published",
        text,
    )


def test_what_matters_most_stays_in_a_narrow_one() -> None:
    assert re.fullmatch(r"3/5 search  0:0\d  gap 2\.8 %", searching(**FOUND).text(30))


@pytest.mark.parametrize(
    ("figures", "shown"),
    [
        ({"cost": 10.0}, "gap ?"),
        ({"cost": 10.0, "bound": 0.0, "gap": 1.0}, "gap ?"),
        ({"cost": 10.0, "bound": 10.0000001, "gap": -1e-8}, "gap 0.0 %"),
        ({"cost": 0.0, "bound": 0.0, "gap": 0.0}, "gap 0.0 %"),
        ({"cost": 10.0, "bound": 7.5}, "gap 25.0 %"),
        ({"gap": 0.123456789012345}, "gap 12.3 %"),
    ],
)
def test_the_gap_is_in_per_cent_and_never_negative(figures: dict[str, float], shown: str) -> None:
    assert shown in searching(**figures).text(200)


def test_nothing_is_said_of_a_pattern_before_there_is_one() -> None:
    text = searching(open=7).text(200)
    assert "gap" not in text and "cost" not in text and "published" not in text


def test_a_new_search_begins_without_the_old_figures() -> None:
    line = searching(**FOUND)
    line.phase(Phase.AUDIT)
    assert "cost" in line.text(200)
    line.phase(Phase.ADJUST)
    assert "cost" not in line.text(200)


def test_relays_pass_on_phases_and_plans() -> None:
    from cellveil.clock import Stopwatch

    line = ProgressLine()
    with StageClock(NoteTaker(line), Stopwatch(), "search") as observed:
        observed.plan(PHASES)
        observed.phase(Phase.AUDIT)
    assert line.place == "4/5"


def test_a_shorter_line_covers_the_longer_one_before_it() -> None:
    stream = Terminal()
    pen = Pen(stream)
    pen.draw("a longer line")
    pen.draw("short")
    assert stream.getvalue().endswith("\rshort        ")
    pen.clear()
    assert stream.getvalue().endswith("\r") and pen.width == 79


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_nothing_of_the_line_is_left(
    error: type[BaseException] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("cellveil.cli.progress_view.INTERVAL", 0.001)
    monkeypatch.setenv("TERM", "xterm")
    try:
        with progress(False, PHASES) as shown:
            shown.phase(Phase.SEARCH)
            while "3/5" not in stream.getvalue():
                pass
            if error is not None:
                raise error
    except (KeyboardInterrupt, ValueError):
        pass
    last = stream.getvalue().rsplit("\r", 2)
    assert last[-1] == "" and not last[-2].strip()
    assert "\x1b" not in stream.getvalue()


def test_nothing_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    for silent, stream in ((False, io.StringIO()), (True, Terminal())):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress(silent, PHASES) as shown:
            assert type(shown) is Progress
        assert stream.getvalue() == ""


def test_a_dumb_terminal_gets_a_line_for_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    with progress(False, PHASES) as shown:
        assert isinstance(shown, PhaseLines)
        for phase in (Phase.READ, Phase.SEARCH, Phase.SEARCH, Phase.WRITE):
            shown.phase(phase)
    assert stream.getvalue() == "1/5 reading the data\n3/5 looking for a pattern\n5/5 writing the results\n"


@pytest.mark.parametrize(
    ("cost", "shown"), [(98_765.0, "98,760"), (123_456.0, "123,500"), (9_999.6, "10,000"), (41.26, "41.3")]
)
def test_a_cost_has_four_digits_at_most(cost, shown):
    assert f"cost {shown}" in searching(cost=cost).text(200)
