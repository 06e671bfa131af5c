"""Odd input of every kind ends in words; the fuzzer itself notices what does not."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.fuzzing.session import read_finding
from tests.fuzzing.targets import TARGETS

ROOT = Path(__file__).parents[2]
CASES = 4
WITHOUT_GROUND = [name for name, target in TARGETS.items() if not target.has_ground and name != "model-replies"]
SESSION = """
import os, sys, time
from pathlib import Path
from tests.fuzzing.case_process import adopt_orphans
from tests.fuzzing.session import Session
from tests.fuzzing.target import Target

def run_case(given, place):
    if "bad" in given:
        raise RuntimeError("no words")
    if "slow" in given:
        time.sleep(60)
    if "dead" in given:
        os.abort()

def make_case(chance):
    return ["good", chance.choice(("good", "bad", "slow", "dead")), "good"]

adopt_orphans()
session = Session(1, Path(sys.argv[1]))
session.run_targets([Target("odd", make_case, run_case, wall_s=0.2)], lambda cases, used_s: cases >= 12)
print(*session.render_lines(), sep="\\n")
"""


@pytest.mark.parametrize("name", WITHOUT_GROUND)
def test_odd_input_ends_in_words(name: str, tmp_path: Path) -> None:
    drawn = set[str]()
    for number in range(CASES):  # a case raises what its input led to, if that is no word for people
        given = TARGETS[name].make_case(Random(f"1/{name}/{number}"))
        drawn.add(repr(given))
        place = tmp_path / str(number)
        place.mkdir()
        TARGETS[name].run_case(given, place)
    assert len(drawn) > 1, "the inputs are all the same"


@pytest.mark.parametrize("name", ["forge-events", "scripts"])
def test_an_input_is_the_same_whatever_was_drawn_before(name: str) -> None:
    def draw_inputs() -> list[str]:
        return [repr(TARGETS[name].make_case(Random(f"1/{name}/{number}"))) for number in range(60)]

    assert draw_inputs() == draw_inputs()


@pytest.mark.extended
@pytest.mark.sandbox
@pytest.mark.timeout(1800)
def test_odd_command_lines_files_journals_and_replies_end_in_words_and_in_time(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.fuzzing", "--cases", "20", "--seed", "1", "--dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.extended
def test_what_crashes_hangs_or_dies_is_found_once_and_written_down_as_small_as_it_gets(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SESSION, str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert "12 inputs in 12 cases, 3 findings" in done.stdout, done.stdout + done.stderr
    found = {tuple(read_finding(path)[1]) for path in (tmp_path / "findings").glob("*.py")}
    assert found == {("bad",), ("slow",), ("dead",)}
