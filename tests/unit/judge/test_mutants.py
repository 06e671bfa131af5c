"""Which places of a change are altered, how, and how that is told."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchestrator.judge.files.changed_file import AddedLine, ChangedFile
from orchestrator.judge.mutation.choice import choose_mutants
from orchestrator.judge.mutation.mutant import Mutant
from orchestrator.judge.source.python_syntax import parse_python

CART = '''"""The cart."""
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 1

log = logging.getLogger(__name__)


def get_price(count: int, rate: "int | None" = None) -> int:
    """Return 3."""
    log.info("count %s", count + 1)
    if count < 0:
        raise ValueError("below " + str(0))
    print(count - 1)
    return count * 2


class Cart:
    def __repr__(self) -> str:
        return "cart" * 2


if __name__ == "__main__":
    get_price(1 + 1)
'''


def choose(source: str, limit: int, path: str = "shop/cart.py", numbers: range | None = None) -> tuple[Mutant, ...]:
    file = ChangedFile(path, None, source.encode(), None, "100644")
    lines = []
    for number, text in enumerate(source.splitlines(), start=1):
        if numbers is None or number in numbers:
            lines.append(AddedLine(path, number, text))
    return choose_mutants([file], lines, limit)


def apply(mutant: Mutant, source: str) -> str:
    edit, content = mutant.edit, source.encode()
    return (content[: edit.offset] + edit.inserted + content[edit.offset + edit.removed :]).decode()


def test_only_what_tests_could_notice_is_altered() -> None:
    assert [one.description for one in choose(CART, 50)] == [
        "`<` became `<=` at shop/cart.py:14",
        "`0` became `1` at shop/cart.py:14",
        "`*` became `/` at shop/cart.py:17",
        "`2` became `3` at shop/cart.py:17",
    ]


def test_an_edit_makes_of_the_file_what_the_text_says_also_behind_wide_characters() -> None:
    source = 'NAME = "größer"\n\n\ndef is_more(a, b):\n    return a > b  # größer\n'
    (mutant,) = choose(source, 1)
    assert (mutant.description, apply(mutant, source)) == (
        "`>` became `>=` at shop/cart.py:5",
        source.replace("a > b", "a >= b"),
    )


def test_a_handful_is_spread_over_the_changed_lines_and_always_the_same() -> None:
    source = "def f(x):\n" + "".join(f"    x = x + {number}\n" for number in range(100)) + "    return x\n"
    chosen = choose(source, 4)
    assert [one.line // 25 for one in chosen] == [0, 1, 2, 3]
    assert len({one.before for one in chosen}) > 1, "not all by one operator"
    assert chosen == choose(source, 4)


def test_only_added_lines_are_altered_and_lines_that_decide_come_first() -> None:
    source = "def f(x):\n    y = g(x)\n    z = h(y)\n    if z and y:\n        return 1\n    return 2\n"
    assert {one.line for one in choose(source, 50, numbers=range(2, 4))} == {2, 3}
    assert [one.description for one in choose(source, 1)] == ["`and` became `or` at shop/cart.py:4"]


@pytest.mark.parametrize("path", ["tests/test_cart.py", "conftest.py", "cart.js", "shop/cart.pyi"])
def test_tests_and_other_languages_are_left_alone(path: str) -> None:
    assert choose(CART, 5, path) == ()


@pytest.mark.parametrize("source", ["def f(:\n", "x = (" + "(" * 400 + ")" * 400 + ")\n", "x = 1\n" * 50_000])
def test_what_cannot_be_read_or_is_too_large_has_no_mutants(source: str) -> None:
    assert choose(source, 5) == ()


def test_none_are_made_where_none_are_asked_for() -> None:
    assert choose(CART, 0) == ()


def test_numbers_are_read_while_another_thread_parses() -> None:
    """Python 3.11 counts the recursion of all parsers together, and lets others run while it collects garbage."""
    numbers = "".join(f"        {number},\n" for number in range(100))
    source = f"def get_rates() -> list[int]:\n    return [\n{numbers}    ]\n"
    other = b"x = [" + b"(1, (2, (3, 4))), " * 4_000 + b"]\n"

    def let_others_run(*_: object) -> None:
        time.sleep(0.001)

    gc.callbacks.append(let_others_run)
    try:
        with ThreadPoolExecutor(2) as threads:
            mutants = threads.submit(choose, source, 5)
            parsed = threads.submit(parse_python, other)
            while not mutants.done():
                assert parsed.result() is not None
                parsed = threads.submit(parse_python, other)
    finally:
        gc.callbacks.remove(let_others_run)
    assert len(mutants.result()) == 5
