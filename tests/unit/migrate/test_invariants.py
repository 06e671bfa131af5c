"""Invariants of single files: each has a change that breaks it and one that does not."""

import difflib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.verify import Invariant
from orchestrator.migrate.judging.file_rules import count_unrelated_lines, find_objection, list_deleted_tests
from orchestrator.migrate.judging.invariants import (
    ChangedRegion,
    FileChange,
    find_broken_invariant,
    select_due_invariants,
)

OLD = "import os\n\n\ndef f(p):\n    return os.path.join(p, 'x')\n"
NEW = "from pathlib import Path\n\n\ndef f(p):\n    return Path(p) / 'x'\n"


def regions(before: str, after: str) -> list[ChangedRegion]:
    old, new = before.splitlines(), after.splitlines()
    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        ChangedRegion(a1 + 1 if a2 > a1 else a1, a2 - a1, b1 + 1 if b2 > b1 else b1, b2 - b1)
        for tag, a1, a2, b1, b2 in found
        if tag != "equal"
    ]


def places(text: str, word: str = "os.path") -> list[SitePlace]:
    lines = enumerate(text.splitlines(), start=1)
    return [SitePlace(site="s", line=number) for number, line in lines if word in line]


def change(before: str, after: str, path: str = "src/a.py") -> FileChange:
    sites = (places(before), places(after))
    return FileChange(path, before.encode(), after.encode(), *sites, regions(before, after))


@pytest.mark.parametrize(
    ("invariant", "good", "bad", "why"),
    [
        ({"kind": "sites-at-most", "site": "s", "max": 0}, NEW, OLD, "1 sites of s are left, at most 0 may be"),
        ({"kind": "sites-at-least", "site": "s"}, OLD, NEW, "0 sites of s are there, at least 1 have to be"),
        (
            {"kind": "no-new-match", "pattern": "# *noqa"},
            NEW,
            NEW + "x = 1  # noqa\n",
            "1 new matches of # *noqa: x = ",
        ),
        ({"kind": "max-diff", "lines": 4}, NEW, NEW + "x = 1\n", "5 lines changed, at most 4 may"),
    ],
)
def test_a_change_that_breaks_an_invariant_is_told_why_and_one_that_keeps_it_is_not(
    invariant: dict[str, Any], good: str, bad: str, why: str
) -> None:
    rules = [Invariant.model_validate(invariant)]
    assert find_broken_invariant(change(OLD, good), rules) is None
    found = find_broken_invariant(change(OLD, bad), rules)
    assert found is not None
    assert found.reason.startswith(why)
    assert found.signature


def test_only_paths_that_an_invariant_names_may_change() -> None:
    rules = [Invariant(kind="paths-only", paths=("src/**", "!src/vendor/**"))]
    assert find_broken_invariant(change(OLD, NEW), rules) is None
    assert find_broken_invariant(change(OLD, NEW, "src/vendor/a.py"), rules) is not None


def test_files_that_break_an_invariant_differently_have_one_signature() -> None:
    rules = [Invariant(kind="sites-at-most", site="s")]
    signs = {found.signature for n in (1, 2, 7) if (found := find_broken_invariant(change("", OLD * n), rules))}
    assert len(signs) == 1


@given(st.text("ab\n"), st.text("ab\n"))
def test_what_matched_before_is_never_a_new_match(before: str, after: str) -> None:
    rules = [Invariant(kind="no-new-match", pattern="a+b")]
    assert find_broken_invariant(change(before, before), rules) is None
    assert (find_broken_invariant(change(before, before + after), rules) is None) or "ab" in before + after


def test_what_is_due_at_a_level_stays_due_later() -> None:
    levels = ("step", "shard", "queue", "final")
    rules = [Invariant(kind="max-diff", lines=9, level=level) for level in levels]  # type: ignore[arg-type]
    assert [len(select_due_invariants(rules, level)) for level in levels] == [1, 2, 3, 4]  # type: ignore[arg-type]


def recipe(**judge: Any) -> Recipe:
    return Recipe.model_validate(
        {
            "schema": 1,
            "migration": {"id": "x"},
            "scope": {"include": ["src/**", "tests/**"], "site": [{"id": "s", "pattern": "os"}]},
            "step": [{"id": "s", "run": "true {files}"}],
            "verify": {"check": [{"id": "t", "run": "true"}]},
            "judge": judge,
        }
    )


def test_a_change_far_from_any_site_is_unrelated_up_to_what_is_allowed() -> None:
    far = OLD.replace("import os", "import  os").replace("os.path.join(p, 'x')", "Path(p) / 'x'")
    rules = {"reject_if": ["unrelated-hunk"], "near": 2}
    found = find_objection(change(OLD, far), recipe(**rules))
    assert found is not None
    assert found.reason == "2 changed lines are further than 2 lines from any site, at most 0 may be"
    assert find_objection(change(OLD, far), recipe(**rules, max_unrelated_lines=2)) is None
    assert find_objection(change(OLD, OLD.replace("os.path.join(p, 'x')", "p")), recipe(**rules)) is None


LINES = st.lists(st.sampled_from("abc"), max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(LINES, LINES, st.integers(0, 20))
def test_unrelated_lines_are_all_without_sites_none_with_sites_everywhere_and_fewer_the_wider_one_looks(
    before: str, after: str, near: int
) -> None:
    found = regions(before, after)
    total = sum(region.removed + region.added for region in found)
    assert count_unrelated_lines(found, [], near) == total
    assert count_unrelated_lines(found, range(20), near) == 0
    assert count_unrelated_lines(found, [3], near + 1) <= count_unrelated_lines(found, [3], near) <= total


def test_a_test_that_is_gone_is_told_by_its_name_and_a_renamed_variable_is_not() -> None:
    old = "class TestA:\n    def test_x(self):\n        a = 1\n\n    def test_y(self):\n        pass\n"
    assert list_deleted_tests(change(old, old.replace("a = 1", "b = 1"))) == []
    assert list_deleted_tests(change(old, old.replace("test_y", "check_y"))) == ["TestA.test_y"]
    script = "test('a', f);\nit('b', f);\n"
    gone = find_objection(change(script, "it('b', f);\n", "tests/a.test.js"), recipe(reject_if=["deleted-test"]))
    assert gone is not None
    assert gone.reason == "tests are gone from it: 1 calls of it or test"


def test_a_path_that_a_revised_scope_no_longer_takes_in_is_refused() -> None:
    assert find_objection(change(OLD, NEW), recipe()) is None
    assert find_objection(change(OLD, NEW, "docs/a.py"), recipe()) is not None
