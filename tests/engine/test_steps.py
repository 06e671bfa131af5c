"""Steps on real git and a real sandbox: shared sandboxes, results that are known already, built-in rewrites."""

import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_creation import create_migration_run
from orchestrator.app.run_execution import RunExit, run_migration, work_on_run
from orchestrator.domain.event.migration import FileMoved, ShardsPlanned
from orchestrator.domain.migration.files import FileStatus, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.migrate.recipe import load_recipe
from orchestrator.project.options import Options
from orchestrator.scratch_runs.dry_run import DryRunOptions, dry_run_recipe
from tests.running.projects import git, repository

pytestmark = pytest.mark.sandbox
SED = "sed -i s/old/new/ {files}"
ALWAYS_GREEN = {"report": "exit-code", "check": [{"id": "t", "run": "true"}]}


def recipe(*steps: dict[str, Any], **more: Any) -> Recipe:
    values = {
        "schema": 1,
        "migration": {"id": "words"},
        "scope": {"include": ["*.txt", "*.py"]},
        "step": [{"id": f"step-{n}"} | step for n, step in enumerate(steps)],
        "verify": ALWAYS_GREEN,
    }
    return Recipe.model_validate(values | more)


@pytest.fixture
def words(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {f"{name}.txt": f"old {name}\n" for name in "abcdefgh"}
    return repository(tmp_path / "repo", files)


def options(root: Path, flags: dict[str, Any]) -> Options:
    return Options(root, {"state": {"dir": str(root.parent / "state")}, "hands": {"slots": 1}} | flags)


async def run(root: Path, given: Recipe, **flags: Any) -> RunExit:
    return await run_migration(options(root, flags), given)


def moves(ended: RunExit) -> list[FileMoved]:
    """What steps made of files, in order."""
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return [event for event in events if isinstance(event, FileMoved) and event.cache_key]


def has_run(ended: RunExit) -> list[str]:
    return [event.path for event in moves(ended) if not event.is_cached]


def on_branch(root: Path, ended: RunExit, path: str) -> str:
    return git(root, "show", f"{ended.state.run.branch}:{path}")


def step_notices(ended: RunExit) -> list[str]:
    """What the run has noticed of its steps."""
    return [notice.text for notice in ended.state.notices if notice.code != NoticeCode.EXIT_CODE_GATE]


def reasons(ended: RunExit) -> dict[str, str]:
    return {path: file.reason for path, file in ended.state.migration.files.items() if file.reason}


@pytest.mark.extended
async def test_files_that_share_a_sandbox_know_nothing_of_each_other(words: Path) -> None:
    peep = f"ls /tmp/n ~/n 2>/dev/null; cat *.txt | grep -c old | grep -qx 8 || exit 4; touch /tmp/n ~/n; {SED}"
    odd = "case {files} in b.txt) exit 3;; c.txt) kill -9 $$;; d.txt) rm d.txt; exit;; e.txt) sleep 60;; esac; "
    ended = await run(words, recipe({"run": odd + peep, "timeout_s": 4}))
    assert reasons(ended) == {
        "b.txt": "step step-0 exited 3",
        "c.txt": "step step-0 exited 137",
        "d.txt": "step step-0 left no readable file: d.txt does not exist or is no regular file.",
        "e.txt": "step step-0 was ended: timed-out",
    }
    assert [on_branch(words, ended, f"{name}.txt") for name in "afgh"] == ["new a", "new f", "new g", "new h"]
    assert not step_notices(ended)
    assert has_run(ended) == [f"{name}.txt" for name in "abdfgh"], "what was ended is not known to fail"


@pytest.mark.parametrize(
    ("leave", "notices"),
    [
        ("sleep 61 > /dev/null 2>&1 &", "has a sandbox for each file"),
        ("mkdir -p empty/directory;", "has a sandbox for each file"),
        ("echo x > stray;", "also changed stray"),
        ("echo x >> h.txt;", "also changed h.txt"),
    ],
)
async def test_a_step_that_reaches_further_than_its_file_has_a_sandbox_for_each(
    words: Path, leave: str, notices: str
) -> None:
    alone = f"test ! -e stray && test ! -e empty && grep -c x h.txt | grep -qx 0 || exit 5; {leave} {SED}"
    ended = await run(words, recipe({"run": alone}))
    assert {path: file.status for path, file in ended.state.migration.files.items()} == dict.fromkeys(
        (f"{name}.txt" for name in "abcdefgh"), FileStatus.MERGED
    )
    assert [notices in text for text in step_notices(ended)] == [True]
    assert len(has_run(ended)) == 8, "each is booked once"


@pytest.mark.extended
async def test_a_second_run_of_the_same_recipe_runs_no_step(words: Path) -> None:
    given = recipe({"run": "test {files} != a.txt || exit 3; test {files} = b.txt || " + SED})
    first, again = await run(words, given), await run(words, given)
    assert len(has_run(first)) == 8
    assert has_run(again) == []
    assert [on_branch(words, again, "c.txt"), on_branch(words, again, "a.txt")] == ["new c", "old a"]
    assert reasons(again) == reasons(first) == {"a.txt": "step step-0 exited 3"}
    assert {path: file.status for path, file in again.state.migration.files.items()} == {
        path: file.status for path, file in first.state.migration.files.items()
    }


@pytest.mark.extended
async def test_only_what_changed_is_run_again(words: Path) -> None:
    await run(words, recipe({"run": SED, "reads": ["*.cfg"]}))
    (words / "c.txt").write_text("another old\n")
    git(words, "commit", "-qam", "c")
    given = recipe({"run": SED, "reads": ["*.cfg"]}, {"run": "sed -i s/^/:/ {files}"})
    ended = await run(words, given)
    assert [(event.path, event.is_cached) for event in moves(ended) if event.rung == 0] == sorted(
        ((f"{name}.txt", name != "c") for name in "abcdefgh"), key=lambda item: not item[1]
    )
    assert [event.is_cached for event in moves(ended) if event.rung == 1] == [False] * 8
    assert on_branch(words, ended, "c.txt") == ":another new"
    (words / "tool.cfg").write_text("x\n")
    git(words, "add", "-A")
    git(words, "commit", "-qm", "what the step reads is another")
    assert len(has_run(await run(words, given))) == 8, "of the first step; the second one has its results"


async def test_the_cache_can_be_left_out(words: Path) -> None:
    given = recipe({"run": SED})
    await run(words, given)
    assert len(has_run(await run(words, given, migrate={"cache": False}))) == 8


async def test_a_regular_expression_rewrites_without_a_sandbox_of_its_own(tmp_path: Path) -> None:
    files = {
        "a.py": "def f(x, y):\r\n    return old(x, y)\r\n",
        "b.py": "old(1, 2)\n",
        "c.py": "nothing\n",
        ".gitattributes": "a.py text eol=crlf\n",
    }
    root = repository(tmp_path / "repo", files)
    step = {"kind": "rewrite", "pattern": r"\bold\((\w+), (\w+)\)", "rewrite": r"new(\2, \1)"}
    ended = await run(root, recipe(step, scope={"include": ["*.py"]}))
    assert git(root, "show", f"{ended.state.run.branch}:a.py") == "def f(x, y):\n    return new(y, x)"
    assert on_branch(root, ended, "b.py") == "new(2, 1)"
    assert ended.state.migration.files["c.py"].status == FileStatus.NOTHING_TO_DO
    broken = await run(root, recipe(step | {"rewrite": "new("}, scope={"include": ["*.py"]}))
    assert reasons(broken)["b.py"] == "does not parse after step step-0: line 1: '(' was never closed"


@pytest.mark.parametrize("step", [{"run": "sed -i s/old/oldold/ {files}"}, {"run": SED}])
async def test_a_step_that_changes_its_own_result_once_more_has_failed(words: Path, step: dict[str, Any]) -> None:
    ended = await run(words, recipe(step | {"idempotent": True}))
    is_fine = step["run"] == SED
    failed = [path for path, file in ended.state.migration.files.items() if file.signature == "not idempotent"]
    assert len(failed) == (0 if is_fine else 8), "files of the sample and of the rest alike"
    assert is_fine or "line 1: 'oldold a' becomes 'oldoldold a'" in reasons(ended)["a.txt"]


SETTLES_IN_THREE = "sed -i 's/old/mid/;t;s/mid/new/' {files}"
"""The first pass makes it `mid`, the second `new`, the third leaves it."""


@pytest.mark.parametrize("per", ["file", "shard"])
async def test_a_step_runs_on_its_own_result_until_it_changes_nothing(words: Path, per: str) -> None:
    ended = await run(words, recipe({"run": SETTLES_IN_THREE, "per": per, "max_passes": 3}, sample={"files": 2}))
    assert (ended.exit_code, reasons(ended)) == (0, {})
    assert [on_branch(words, ended, f"{name}.txt") for name in "ah"] == ["new a", "new h"]


async def test_a_regex_runs_on_its_own_result_too(words: Path) -> None:
    step = {"kind": "rewrite", "pattern": "o(l?)d", "rewrite": r"\1d", "max_passes": 5}
    ended = await run(words, recipe(step))
    assert on_branch(words, ended, "a.txt") == "ld a"


@pytest.mark.parametrize(
    ("line", "telling"),
    [
        ("sed -i s/$/!/ {files}", "pass 3 of at most 3 still changes the file (line 1: 'old a!!' becomes 'old a!!!')"),
        ("sed -i 's/old/new/;t;s/new/old/' {files}", "pass 2 gives again what the file was before"),
    ],
)
async def test_a_step_that_never_settles_is_named_with_its_passes_and_what_still_differs(
    words: Path, line: str, telling: str
) -> None:
    ended = await run(words, recipe({"run": line, "max_passes": 3}))
    assert ended.exit_code == 4
    assert reasons(ended)["a.txt"].startswith(f"step step-0 does not settle: {telling}")
    assert {file.signature for file in ended.state.migration.files.values()} == {"does not settle"}


@pytest.mark.parametrize("limit", [{"idempotent": True}, {"max_passes": 2}, {"max_passes": 3}])
@pytest.mark.parametrize("sample", [0, 2])
async def test_a_dry_run_makes_of_each_file_what_the_run_does(words: Path, limit: dict[str, Any], sample: int) -> None:
    given = recipe({"run": SETTLES_IN_THREE} | limit, sample={"files": sample, "min_pass": 0.0})
    forecast = await dry_run_recipe(options(words, {}), given, DryRunOptions())
    ended = await run(words, given, migrate={"cache": False})
    assert {file.path: file.reason for file in forecast.files if file.reason} == reasons(ended)
    landed = [path for path, file in ended.state.migration.files.items() if file.status == FileStatus.MERGED]
    assert [file.path for file in forecast.files if file.status == "changed"] == landed


async def test_a_step_per_shard_gets_the_files_of_one_shard_at_a_time(words: Path) -> None:
    given = recipe({"run": "echo {files} | tee -a {files} > /dev/null", "per": "shard"})
    place = await create_migration_run(options(words, {}), given)
    shards = [Shard(name="one", files=("a.txt", "b.txt")), Shard(name="two", files=("c.txt",))]
    with place.directory.hold_lock():
        journal = Journal(place.directory.path, SystemClock())
        await journal.append(ShardsPlanned(shards=tuple(shards)))
        journal.close()
    ended = await work_on_run(place)
    told = {path: on_branch(words, ended, path).splitlines()[1] for path in ("a.txt", "b.txt", "c.txt", "d.txt")}
    assert told == {"a.txt": "a.txt b.txt", "b.txt": "a.txt b.txt", "c.txt": "c.txt"} | {
        "d.txt": "d.txt e.txt f.txt g.txt h.txt"
    }


@pytest.mark.extended
async def test_a_step_for_failed_files_can_begin_with_the_original(words: Path) -> None:
    gate = {"report": "exit-code", "check": [{"id": "t", "run": "! grep -q new a.txt b.txt"}]}
    ladder = [
        {"run": SED},
        {"run": "sed -i s/$/!/ {files}", "when": "failed", "start": "original"},
    ]
    ended = await run(words, recipe(*ladder, verify=gate))
    assert [on_branch(words, ended, f"{name}.txt") for name in "abc"] == ["old a!", "old b!", "new c"]


RULE = """id: no-print
language: python
rule:
  pattern: print($A)
fix: log($A)
"""


@pytest.mark.skipif(
    not (Path(sysconfig.get_path("scripts")) / "ast-grep").exists() and not shutil.which("ast-grep"),
    reason="ast-grep is not installed",
)
async def test_ast_grep_rewrites_by_pattern_and_by_a_rule_in_a_file(tmp_path: Path) -> None:
    from orchestrator.migrate.sites.ast_grep import locate_ast_grep

    root = repository(tmp_path / "repo", {"a.py": "print(1)\nassert_(x.exception)\n", "b.py": "pass\n"})
    (tmp_path / "rule.yml").write_text(RULE)
    (tmp_path / "recipe.toml").write_text(
        'schema = 1\n[migration]\nid = "x"\n[scope]\ninclude = ["*.py"]\n'
        '[[step]]\nid = "rule"\nkind = "rewrite"\nengine = "ast-grep"\nrule = "rule.yml"\n'
        '[[step]]\nid = "pattern"\nkind = "rewrite"\nengine = "ast-grep"\nlanguage = "python"\n'
        "pattern = '$A.exception'\nrewrite = '$A.value'\n"
        '[verify]\nreport = "exit-code"\n[[verify.check]]\nid = "t"\nrun = "true"\n'
    )
    loaded = load_recipe(tmp_path / "recipe.toml")
    (tmp_path / "rule.yml").unlink()
    given = Options(
        root,
        {"state": {"dir": str(tmp_path / "state")}},
        read_only=(str(locate_ast_grep().resolve().parent), str(locate_ast_grep().parent)),
    )
    ended = await run_migration(given, loaded)
    assert on_branch(root, ended, "a.py") == "log(1)\nassert_(x.value)"
    assert ended.state.migration.files["b.py"].status == FileStatus.NOTHING_TO_DO


@pytest.mark.extended
async def test_a_pattern_that_never_ends_costs_only_its_own_file(words: Path) -> None:
    (words / "c.txt").write_text("a" * 50 + "!\n")
    git(words, "commit", "-qam", "one that never ends")
    ended = await run(words, recipe({"kind": "rewrite", "pattern": "(a+)+$|old", "rewrite": "new", "timeout_s": 3}))
    assert ended.exit_code == 3
    assert reasons(ended) == {
        "c.txt": "step step-0 was ended: its pattern took longer than 3 s, or made the file too large"
    }
    assert len(ended.state.landed_units) == 7


@pytest.mark.extended
async def test_a_file_whose_step_was_ended_for_want_of_time_is_not_known_to_fail_but_tried_again(words: Path) -> None:
    slow = recipe({"run": f"case {{files}} in c.txt) sleep 60;; d.txt) exit 3;; *) {SED};; esac", "timeout_s": 4})
    ended = await run(words, slow)
    assert set(reasons(ended)) == {"c.txt", "d.txt"}
    again = await run(words, slow)
    assert "was ended" in reasons(again)["c.txt"]
    events = [one.event for one in read_all_events(again.directory.journal) if isinstance(one.event, FileMoved)]
    assert {event.path for event in events if event.seconds} == {"c.txt"}


async def test_a_step_that_leaves_another_encoding_than_attributes_say_costs_only_its_own_file(words: Path) -> None:
    (words / ".gitattributes").write_text("*.txt working-tree-encoding=UTF-16LE\n")
    for path in (words / f"{name}.txt" for name in "abcdefgh"):
        path.write_bytes("old\n".encode("utf-16-le"))
    git(words, "add", "--renormalize", ".")
    git(words, "add", ".gitattributes")
    git(words, "commit", "-qm", "two bytes a letter")
    ended = await run(
        words, recipe({"run": "case {files} in c.txt) echo >> {files};; *) sed -i s/o/O/ {files};; esac"})
    )
    assert set(reasons(ended)) == {"c.txt"}
    assert "not of the encoding that .gitattributes says" in reasons(ended)["c.txt"]
    assert {on_branch(words, ended, path) for path in ended.state.landed_units} == {"Old"}


@pytest.mark.extended
async def test_more_files_than_fit_on_a_command_line_are_given_to_an_invariant_in_parts_and_refused_to_a_step(
    tmp_path: Path,
) -> None:
    long = "/".join(["d" * 100] * 8)
    root = repository(tmp_path / "repo", {f"{long}/{number:03}.txt": "old\n" for number in range(160)})
    kept = {"kind": "command", "run": "! grep -L new {files} | grep .", "level": "queue"}
    shard = {"by": ["directory"], "max_files": 1000}
    rewrite = {"kind": "rewrite", "pattern": "old", "rewrite": "new"}
    ended = await run(root, recipe(rewrite, invariant=[kept], shard=shard))
    assert (ended.exit_code, len(ended.state.landed_units)) == (0, 160)
    ended = await run(root, recipe({"run": SED, "per": "shard"}, shard=shard))
    assert (ended.exit_code, ended.state.ended) == (7, None)
    assert "160 files at once, which do not fit on one command line" in str(ended.error)
