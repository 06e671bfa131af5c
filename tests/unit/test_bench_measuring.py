"""Reports of measurements: medians of rounds, and bars that are past."""

import json
from pathlib import Path

import pytest

from bench.measuring import Bar, report_rounds, require_quiet_machine, summarize_rounds

ROUNDS = [{"ours": 2.0, "ours / peer": 0.5}, {"ours": 9.0, "ours / peer": 0.9}, {"ours": 3.0, "ours / peer": 0.6}]


def test_a_figure_is_the_median_of_its_rounds() -> None:
    assert summarize_rounds(ROUNDS)["ours"] == (2.0, 3.0, 9.0)


def test_a_bar_that_holds_is_shown_and_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_rounds("step", ROUNDS, [Bar("ours / peer", 0.6), Bar("ours", 1, is_floor=True)]) == 0
    printed = capsys.readouterr().out
    assert "at most 0.6" in printed
    assert "PAST" not in printed


def test_a_slowdown_of_two_is_past_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    slower = [{name: 2 * value for name, value in one.items()} for one in ROUNDS]
    assert report_rounds("step", slower, [Bar("ours / peer", 0.6)]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if "ours / peer" in line)
    assert "1.2" in line
    assert "PAST" in line


def test_a_bar_that_a_figure_must_reach_is_past_below_it() -> None:
    assert report_rounds("queue", ROUNDS, [Bar("ours", 5, is_floor=True)]) == 1


def test_rounds_are_written_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_JSON", str(tmp_path / "out"))
    report_rounds("step: one", ROUNDS, [Bar("ours", 5)])
    written = json.loads((tmp_path / "out" / "step--one.json").read_text())
    assert (written["rounds"], written["bars"][0]["bound"]) == (ROUNDS, 5)


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_ANY_LOAD", raising=False)
    monkeypatch.setattr("bench.measuring.SETTLE_S", 0)
    with pytest.raises(SystemExit, match="are busy with other work"):
        require_quiet_machine(most_load=-1)
