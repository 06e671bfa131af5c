"""Two rival landers on one branch, killed all the time: nothing is lost, lands twice or stands there untested.

They land the same candidates, some of them red, some conflicting. What has become of the branch is read from git alone.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.running.branch_history import branch_problems, landed_units
from tests.running.rival_landers import BRANCH, Ground, is_clashing, is_red, plant

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]


def compete(ground: Ground, mutation: str = "", seed: int = 1) -> list[int]:
    """The exit codes of two rivals and their keepers."""
    words = [sys.executable, "-m", "tests.running.rival_landers", str(ground.place)]
    rivals = []
    for number, name in enumerate(("ada", "bob")):
        rivals.append(subprocess.Popen([*words, name, str(seed * 100 + number), mutation], cwd=ROOT))
    return [rival.wait() for rival in rivals]


def problems(ground: Ground) -> list[str]:
    return list(branch_problems(ground.repository, BRANCH, ground.passes.read_text().split()))


def logs(ground: Ground) -> str:
    return "\n".join(log.read_text()[-3000:] for log in ground.place.glob("*.log"))


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.extended)])
def test_two_rivals_that_are_killed_all_the_time_land_everything_once(tmp_path: Path, count: int) -> None:
    ground = plant(tmp_path, count)
    assert compete(ground) == [0, 0], logs(ground)
    assert len((tmp_path / "kills").read_text().split()) > count // 10
    assert problems(ground) == []
    landed = landed_units(ground.repository, BRANCH)
    clashing = {f"task-{number}@1" for number in range(count) if is_clashing(number) and not is_red(number)}
    red = {f"task-{number}@1" for number in range(count) if is_red(number)}
    plain = {f"task-{number}@1" for number in range(count)} - clashing - red
    assert plain <= set(landed)
    assert (len(clashing.intersection(landed)), red.intersection(landed)) == (1, set())


def test_a_rival_that_reads_what_landed_before_the_tip_is_noticed(tmp_path: Path) -> None:
    ground = plant(tmp_path, 60)
    compete(ground, "landed-before-old")
    assert any("landed 2 times" in problem for problem in problems(ground))


def test_a_rival_that_moves_the_branch_whatever_it_stands_at_is_noticed(tmp_path: Path) -> None:
    ground = plant(tmp_path, 60)
    compete(ground, "no-old-value")
    assert any("no step forward" in problem for problem in problems(ground))
