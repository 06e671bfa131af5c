"""Scripts of a verifier in a run: they use the result outside any test run, where nothing tells that it is tested."""

import pytest

from orchestrator.domain.judging.check import SCRIPT_CHECK
from orchestrator.domain.run.task import EndCause, TaskStatus
from tests.running.goals import Bench, status
from tests.running.projects import git
from tests.running.scripts import uses, writes
from tests.running.verifiers import (
    GOOD,
    RIGHT_CODE,
    attempt,
    build_file,
    kinds_of,
    run_half,
    submits,
    task_of,
    verification_of,
)

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

USE = {"name": "use.sh", "text": "test \"$(python3 -c 'from half import half; print(half(7))')\" = 3.5\n"}
WRONG_OUTSIDE = {
    "of a test run": "import sys\n\n\ndef half(n):\n    return n / 2 if 'unittest' in sys.modules else n // 2\n",
    "of a checkout with tests": (
        "from pathlib import Path\n\n\ndef half(n):\n"
        "    return n / 2 if list(Path(__file__).parent.glob('test_*')) else n // 2\n"
    ),
    "of assertions": (
        "def half(n):\n    r = [n // 2]\n    assert not r.clear() and not r.append(n / 2)\n    return r[0]\n"
    ),
    "of the first process": (
        "from pathlib import Path\n\nSEEN = Path(__file__).with_name('.half')\n"
        "FIRST = not SEEN.exists()\nSEEN.touch()\n\n\n"
        "def half(n):\n    return n / 2 if FIRST else n // 2\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("where", WRONG_OUTSIDE)
async def test_code_that_is_wrong_outside_goes_back_until_it_is_right_there_too(bench: Bench, where: str) -> None:
    answer = submits(build_file(GOOD), scripts=[USE])
    ended = await run_half(bench, answer, *attempt(WRONG_OUTSIDE[where]), *attempt(RIGHT_CODE))
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    first = task_of(ended).verdicts[0].verdict
    assert first.cause in {EndCause.REFUSED_BY_VERIFIER, EndCause.RULE_BROKEN}
    if first.cause == EndCause.REFUSED_BY_VERIFIER:
        assert first.verifier_failures == ("use.sh",)
        assert "test 3 = 3.5" in "\n".join(first.reasons)


async def test_scripts_alone_judge_a_change_and_never_land(bench: Bench) -> None:
    wrong = RIGHT_CODE.replace("/", "//")
    ended = await run_half(
        bench, submits(scripts=[USE]), *attempt(wrong), *attempt(RIGHT_CODE), draft={"lands_tests": True}
    )
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    landed = git(bench.repository, "ls-tree", "-r", "--name-only", str(ended.state.head)).splitlines()
    assert landed == [".gitignore", "calc.py", "half.py", "test_calc.py"]
    kept = [receipt for receipt in ended.state.receipts.values() if receipt.kind == SCRIPT_CHECK]
    assert any("PYTHONOPTIMIZE=1" in receipt.command for receipt in kept)


@pytest.mark.extended
async def test_what_is_no_script_or_ends_otherwise_than_claimed_goes_back_and_then_does_not_count(bench: Bench) -> None:
    bad = [
        {"name": "deep/use.sh", "text": "true"},
        {"name": "broken.sh", "text": "if true; then"},
        {"name": "idle.sh", "text": "true"},
        {"name": "red.sh", "text": "false", "base": "characterisation"},
    ]
    many = [{"name": f"use{number}.sh", "text": "false"} for number in range(3)]
    answer = submits(scripts=[USE, *bad, *many])
    ended = await run_half(bench, answer, answer, answer, *attempt(RIGHT_CODE), *attempt(RIGHT_CODE))
    problems = {one.path: one.problem for one in verification_of(ended).trials[-1].problems}
    assert {path: text.partition(",")[0].partition(":")[0] for path, text in problems.items()} == {
        "deep/use.sh": "call it by a plain name in small letters",
        "broken.sh": "the run could not be read by sh on the base",
        "idle.sh": "it is called new-behaviour",
        "red.sh": "it is called characterisation",
        "use1.sh": "it is one too many",
        "use2.sh": "it is one too many",
    }


@pytest.mark.extended
async def test_a_worker_contests_a_wrong_script_and_a_judge_drops_it(bench: Bench) -> None:
    wrong = USE | {"text": USE["text"].replace("3.5", "4")}
    contests = uses("worker", "half", "contest_test", test="use.sh", why="half of seven is 3.5")
    rules = uses("judge", "half", "submit_verdict", decision="drop", reasons=["the task says divided by two"])
    answer = submits(scripts=[wrong])
    ended = await run_half(bench, answer, *attempt(RIGHT_CODE), *attempt(RIGHT_CODE, contests), rules)
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["revise", "merge"])
    (contest,) = verification_of(ended).contests
    assert (contest.test, contest.is_dropped) == ("use.sh", True)


@pytest.mark.extended
async def test_a_project_that_is_built_from_its_tests_keeps_them_in_scripts(bench: Bench) -> None:
    needs_tests = {"name": "use.sh", "text": "ls test_calc.py\n" + USE["text"]}
    more = writes("half", "test_more.py", GOOD.replace("HalfTest", "MoreTest"))
    ended = await run_half(bench, submits(scripts=[needs_tests]), *attempt(RIGHT_CODE, more))
    assert (status(ended, "half"), kinds_of(ended)) == (TaskStatus.MERGED, ["merge"])
