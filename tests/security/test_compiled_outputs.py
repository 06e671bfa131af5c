"""A change of sources is never judged by what the user's checkout was compiled from before."""

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.goals import Bench, status
from tests.running.projects import repository
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes
from tests.unit.hands.conftest import Yard, ran

pytestmark = [pytest.mark.attack(52), pytest.mark.sandbox]

COMPILE = "import sys\nopen('fast.so', 'w').write(open('fast.c').read())\n"
TEST = (
    "import unittest\n\n\nclass FastTest(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(open('fast.so').read().strip(), 'a + b')\n"
)
BUILT = {"command": "rm -f fast.so && python3 build.py && python3 -m unittest -v", "report": "unittest"}
UNBUILT = {"command": "python3 -m unittest -v", "report": "unittest"}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A project with an extension whose compiler copies, built in place and ignored by git."""
    files = {".gitignore": "*.so\n__pycache__/\n", "fast.c": "a + b\n", "build.py": COMPILE, "test_fast.py": TEST}
    root = repository(tmp_path / "repo", files)
    (root / "fast.so").write_text("a + b\n")
    return Bench(tmp_path, root)


def changed(text: str) -> list[ScriptedReply]:
    """A whole run in which a worker writes this into the source."""
    work = [writes("a", "fast.c", text), worker_ends("a"), reviews("a")]
    return [plans("root", {"key": "a"}), *work, planner_ends(), judges()]


async def landed(bench: Bench, text: str, **flags: Any) -> bool:
    return status(await bench.run(*changed(text), **flags), "a") == "merged"


async def test_a_wrong_change_of_sources_is_red_where_the_gate_builds_them(bench: Bench) -> None:
    assert not await landed(bench, "a - b\n", gate=BUILT, run={"max_attempts": 1})


async def test_a_right_change_of_sources_lands_where_the_gate_builds_them(bench: Bench) -> None:
    """What is built lies where the checkout's own would be mounted."""
    assert await landed(bench, "\n  a + b\n", gate=BUILT)


SHARED = {"gate": UNBUILT, "env": {"share": ["*.so"]}}


@pytest.mark.extended
async def test_a_wrong_change_of_sources_is_red_without_a_build_as_well_where_the_output_is_shared(
    bench: Bench,
) -> None:
    ended = await bench.run(*changed("a - b\n"), **SHARED, run={"max_attempts": 1})
    assert status(ended, "a") == "rejected"
    told = [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, Noticed)]
    (notice,) = [one for one in told if one.code == NoticeCode.OUTPUTS_SHARED]
    assert (notice.level, notice.paths) == ("warning", ("fast.so",))


async def test_control_a_change_of_what_is_no_source_is_judged_by_the_shared_output(bench: Bench) -> None:
    work = [writes("a", "notes.txt", "a - b\n"), worker_ends("a"), reviews("a")]
    ended = await bench.run(plans("root", {"key": "a"}), *work, planner_ends(), judges(), **SHARED)
    assert status(ended, "a") == "merged"


async def test_a_gate_builds_at_the_place_of_the_shared_output(bench: Bench) -> None:
    assert not await landed(bench, "a - b\n", gate=BUILT, env={"share": ["*.so"]}, run={"max_attempts": 1})
    assert (bench.repository / "fast.so").read_text() == "a + b\n"


async def test_a_right_change_lands_where_the_gate_builds_at_the_place_of_the_shared_output(bench: Bench) -> None:
    assert await landed(bench, "\n  a + b\n", gate=BUILT, env={"share": ["*.so"]})


async def test_a_notice_names_what_is_not_shared_and_by_a_code_what_it_is_about(bench: Bench) -> None:
    ended = await bench.run(*changed("a + b\n"), gate=BUILT)
    told = [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, Noticed)]
    notices = [one for one in told if one.code == NoticeCode.OUTPUTS_WITHHELD]
    assert [one.paths for one in notices] == [("fast.so",)]
    assert "make && pytest" in notices[0].text


@pytest.mark.conformance
async def test_compiled_files_that_were_installed_from_the_checkout_are_not_to_be_seen(yard: Yard) -> None:
    site = yard.repo / ".venv" / "lib" / "python3.12" / "site-packages"
    for name, origin in (("own", yard.repo.as_uri()), ("other", "file:///somewhere/else"), ("wheel", None)):
        place = site / f"{name}-1.dist-info"
        place.mkdir(parents=True)
        (site / f"{name}.so").write_text(f"compiled {name}\n")
        (place / "RECORD").write_text(f"{name}.so,sha256=x,1\n{name}-1.dist-info/RECORD,,\n../../../../README.md,,\n")
        if origin is not None:
            (place / "direct_url.json").write_text(json.dumps({"url": origin, "dir_info": {"editable": True}}))
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        seen = await ran(workspace, f"cat {site}/*.so; ls {site}")
    assert "compiled other" in seen.output
    assert "compiled wheel" in seen.output
    assert "compiled own" not in seen.output
