"""What `show` prints of a task that a real run judged, and that each receipt can be had again from it."""

import subprocess
from pathlib import Path

import pytest

from tests.running.cli import Finished
from tests.running.goals import Bench
from tests.running.in_process import orchestrate
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, worker_ends

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

GOOD, BROKEN, OTHER = "    return a + b\n", "    return a - b\n", "    return b + a\n"


def pasted(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", line], cwd=place, capture_output=True, text=True, check=False)


async def test_every_receipt_that_is_shown_runs_again_with_the_same_end(bench: Bench) -> None:
    gate = {
        "command": 'python3 -m unittest -v # the "suite", all of it: it\'s small',
        "report": "unittest",
        "reruns": 1,
    }
    await bench.run(
        plans("root", {"key": "sum", "checks": ["echo 'one\ntwo' | grep -q two"]}),
        edits("sum", "calc.py", GOOD, BROKEN),
        worker_ends("sum"),
        edits("sum", "calc.py", BROKEN, OTHER),
        worker_ends("sum"),
        reviews("sum"),
        planner_ends(),
        judges(),
        gate=gate,
    )

    def ask(*words: str) -> Finished:
        return orchestrate(*words, "--state", str(bench.root / "state"), cwd=bench.repository)

    (lens,) = ask("report", "--all", "--json").json["lenses"]
    assert (lens["lens"], lens["votes"], lens["approvals"], lens["spent"]["calls"]) == ("diff", 1, 1, 1)
    assert "  escaped: 0 of 1, no basis yet" in ask("report", "latest", "sum").out
    assert ask("report", "latest", "ghost").code == 2
    shown = ask("show", "latest", "sum", "--all").out.splitlines()
    assert "  verdict: revise (red-tests)" in shown
    assert "  fails now (2): test_calc.CalcTest.test_add, test_calc.CalcTest.test_double" in shown
    assert "  against the base: no test differs" in shown
    assert [line for line in shown if line.startswith("  for sum attempt ")] != []
    lines = [line.removeprefix("  again: ") for line in shown if line.startswith("  again: ")]
    receipts = ask("show", "latest", "sum", "--json").json["receipts"]
    assert lines == [receipt["again"] for receipt in receipts]
    assert [receipt["purpose"] for receipt in receipts] == [
        *("sum attempt 1", "sum attempt 1, again"),  # a red tree is tested twice
        *("sum attempt 2", "sum attempt 2"),
    ]
    assert [bool(receipt["difference"]) for receipt in receipts] == [True, True, True, False]
    for line, receipt in zip(lines, receipts, strict=True):
        done = pasted(line, bench.repository)
        assert done.returncode == receipt["exit_code"], done.stderr
