"""The words and shapes of the code are measured, and what breaks them is found."""

import shutil
from pathlib import Path

import pytest

from tools.measure_style import (
    Module,
    find_one_word_functions,
    find_question_docstrings,
    find_shared_class_names,
    measure_tree,
    read_modules,
)
from tools.text_decisions import find_text_decisions

ROOT = Path(__file__).parent.parent

ONE_WORD = {
    "aclose",
    "append",
    "apply",
    "bell",
    "cli",
    "clear",
    "close",
    "compose",
    "convert",
    "emit",
    "extend",
    "get",
    "main",
    "now",
    "open",
    "render",
    "run",
    "start",
}
"""Names of one word: those that a protocol of Python or of a library fixes, or that everybody uses for it."""

DECIDES_BY_TEXT = frozenset({"orchestrator/domain/ids.py"})
"""Modules that may take an id apart, as they define it."""


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    return read_modules(ROOT)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small house with one module, in which nothing is wrong."""
    (tmp_path / "orchestrator" / "engine").mkdir(parents=True)
    (tmp_path / "orchestrator" / "engine" / "clock.py").write_text(
        '"""Tell the time."""\n\n\nclass Clock:\n    """A clock."""\n\n    def read_clock(self) -> float:\n'
        '        """Return the time in seconds."""\n        return 0.0\n'
    )
    return tmp_path


def plant(house: Path, source: str) -> list[Module]:
    room = house / "orchestrator" / "judge"
    room.mkdir(parents=True)
    (room / "planted.py").write_text(source)
    return read_modules(house)


def test_public_functions_of_one_word_are_on_the_list(modules: list[Module]) -> None:
    assert [place for place in find_one_word_functions(modules) if place.rpartition(" ")[2] not in ONE_WORD] == []


def test_no_two_rooms_have_a_public_class_of_one_name(modules: list[Module]) -> None:
    assert find_shared_class_names(modules) == {}


def test_nothing_decides_by_the_text_of_a_notice_a_reason_or_an_id(modules: list[Module]) -> None:
    assert find_text_decisions(modules, DECIDES_BY_TEXT) == []


@pytest.mark.extended  # `make lint` measures the same
def test_the_figures_of_the_style_guide_hold() -> None:
    assert [figure for figure in measure_tree(ROOT) if not figure.is_kept] == []


def test_a_house_without_faults_breaks_no_bound(house: Path) -> None:
    assert [figure for figure in measure_tree(house) if not figure.is_kept] == []


def test_a_planted_double_name_is_found(house: Path) -> None:
    modules = plant(house, "class Clock:\n    pass\n")
    assert find_shared_class_names(modules) == {"Clock": {"orchestrator/engine", "orchestrator/judge"}}


def test_a_planted_one_word_function_is_found(house: Path) -> None:
    modules = plant(house, "def told() -> None:\n    pass\n\n\ndef _told() -> None:\n    pass\n")
    assert find_one_word_functions(modules) == ["orchestrator/judge/planted.py:1 told"]


def test_a_planted_question_is_found(house: Path) -> None:
    modules = plant(house, 'def is_green() -> bool:\n    """Whether it is green."""\n    return True\n')
    assert find_question_docstrings(modules) == ["orchestrator/judge/planted.py:1 is_green"]


@pytest.mark.parametrize(
    "decision",
    [
        "event.purpose.startswith('queue ')",
        "'changed' in check.reason",
        "notice.detail == 'step x changed'",
        "unit.rpartition('@')",
        "event.session.partition(':')[0]",
    ],
)
def test_a_planted_decision_by_text_is_found(house: Path, decision: str) -> None:
    modules = plant(house, f"{decision}\nname.partition('@')\nevent.reason == ''\n")
    assert len(find_text_decisions(modules)) == 1


@pytest.mark.extended
def test_a_copy_of_the_product_measures_as_the_product(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "roles", tmp_path / "roles", ignore=shutil.ignore_patterns("__pycache__"))
    names = {module.path for module in read_modules(tmp_path)}
    assert names == {module.path for module in read_modules(ROOT) if module.folder.startswith("roles")}
