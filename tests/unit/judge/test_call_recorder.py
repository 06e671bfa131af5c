"""Calls of some modules are recorded as they begin and end, and nothing else of the modules is different."""

import base64
import importlib
import inspect
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from orchestrator.judge.behaviour.call_recorder import CallRecorder
from orchestrator.judge.behaviour.replay_script import replay_calls

SOURCE = '''
"""A module."""
import functools


def add(a, b=2, *more, scale=1, **named):
    """Return a sum."""
    if a > 100:
        return (a + b) * scale
    if a < 0:
        raise ValueError(a)
    for one in more:
        a += one


@functools.lru_cache
def doubled(a):
    return a * 2


class Point:
    def __init__(self, x):
        self.x = x

    @property
    def half(self):
        return self.x / 2

    @classmethod
    def at(cls, x):
        return cls(x)

    def __eq__(self, other):
        return self.x == other.x


def changes(given):
    given.append(1)
    return len(given)


def both():
    try:
        return 1
    finally:
        names = locals()
        print(sorted(names), end="")


def numbers():
    yield 1
'''
Load = Callable[[], tuple[ModuleType, CallRecorder]]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    (tmp_path / "shop_of_calls.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])

    def load_module() -> tuple[ModuleType, CallRecorder]:
        recorder = CallRecorder(str(tmp_path), ["shop_of_calls.py"])
        recorder.install_finder()
        module = importlib.import_module("shop_of_calls")
        recorder.is_active = True
        return module, recorder

    yield load_module
    sys.modules.pop("shop_of_calls", None)


def told(recorder: CallRecorder) -> list[tuple[str, str, str]]:
    return [(call[4], call[6], call[8]) for call in recorder.calls]


def test_each_call_is_recorded_with_what_it_began_and_how_it_ended(load: Load) -> None:
    shop, recorder = load()
    assert shop.add(101, scale=2) == 206
    with pytest.raises(ValueError, match="-1"):
        shop.add(-1)
    given: list[int] = []
    assert shop.changes(given) == 1
    assert shop.Point.at(3).half == 1.5
    assert (shop.doubled(4), shop.doubled(4), list(shop.numbers())) == (8, 8, [1])
    assert told(recorder) == [
        ("add", "returned", "206"),
        ("add", "raised", "builtins.ValueError"),
        ("changes", "returned", "1"),
        ("Point.at", "returned", "shop_of_calls.Point(|x=int:3)"),
        ("Point.half", "returned", "1.5"),
        ("doubled", "returned", "8"),
    ]
    assert pickle.loads(base64.b64decode(recorder.calls[2][5])) == (([],), {})
    assert recorder.calls[0][:4] == ["shop_of_calls.py", 6, 13, "shop_of_calls"]


def test_signatures_sources_names_and_tracebacks_are_those_of_the_file(
    load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, _ = load()
    assert str(inspect.signature(shop.add)) == "(a, b=2, *more, scale=1, **named)"
    assert shop.add.__doc__ == "Return a sum."
    assert inspect.getsource(shop.doubled).splitlines()[-1] == "    return a * 2"
    assert pickle.loads(pickle.dumps(shop.add)) is shop.add
    assert not [name for name in vars(shop) if "call" in name]
    with pytest.raises(ValueError, match="-7") as caught:
        shop.add(-7)
    frames = traceback.extract_tb(caught.tb)
    assert [frame.line for frame in frames[1:]] == ["raise ValueError(a)"]
    assert shop.both() == 1
    assert capsys.readouterr().out == "[]"
    assert not list(Path(shop.__file__ or "").parent.rglob("*.pyc"))


def test_a_function_that_is_called_often_gets_its_own_code_back(load: Load) -> None:
    shop, recorder = load()
    before = shop.changes.__code__
    for number in range(300):
        shop.changes([number])
    assert shop.changes.__code__ is not before
    assert not [part for part in shop.changes.__code__.co_consts if callable(part)]
    assert len(recorder.calls) == 20


def test_recorded_calls_are_made_again_on_what_lies_below_decorators(load: Load, tmp_path: Path) -> None:
    shop, recorder = load()
    shop.add(101)
    shop.doubled(3)
    assert shop.Point(1) == shop.Point(1)
    calls = [[call[0], call[3], call[4], call[5]] for call in recorder.calls]
    calls.append(["shop_of_calls.py", "shop_of_calls", "gone", calls[0][3]])
    recorder.is_active = False
    replay_calls(calls, str(tmp_path / "out"), str(tmp_path))
    lines = (tmp_path / "out").read_text().splitlines()
    assert [line.split(", ")[:2] for line in lines] == [[f"[{number}", '"returned"'] for number in range(3)]
    for line, call in zip(lines, recorder.calls, strict=True):
        assert call[7] in line
