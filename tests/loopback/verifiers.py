"""Verifiers for the loopback server: some know their trade but ramble, some are clumsy, some mean harm."""

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import reply
from tests.loopback.play import task_of
from tests.running.planted import PLANTED
from tests.running.scripts import uses

_BY_NAME = {planted.name: planted for planted in PLANTED}
_HEAD = "import unittest\n\n\nclass BlindTest(unittest.TestCase):\n"
RED = _HEAD + "    def test_it(self):\n        self.fail('never')\n"
GREEN = _HEAD + "    def test_it(self):\n        self.assertTrue(True)\n"
SLEEPS = "import time\n" + _HEAD + "    def test_it(self):\n        time.sleep(3600)\n"
MANY = (
    "import unittest\n\n\nclass BlindTest(unittest.TestCase):\n    pass\n\n\n"
    "for n in range(5000):\n    setattr(BlindTest, f'test_{n}', lambda self: self.fail())\n"
)


def file(text: str, path: str = "test_blind.py", **more: Any) -> dict[str, Any]:
    """A file as the tool takes it."""
    return {"path": path, "text": text, **more}


def works_in_a_muddle(body: dict[str, Any]) -> ScriptedReply:
    """Good tests, after words that nobody reads and a tool that there is not, with other names and a broken file."""
    task, turn = task_of(body["messages"]), _count_replies(body)
    planted = _BY_NAME[task]
    good = planted.test(planted.blind, "BlindTest")
    if turn == 0:
        return reply(f"Let me think. I would test {task} with odd values, for example.", role="verifier", task=task)
    if turn == 1:
        return uses("verifier", task, "write", path=f"test_{task}_blind.py", text=good)
    if turn == 2:
        tests = [
            {"file_path": f"./test_{task}_blind.py", "code": good, "expected": "fails"},
            {"filename": f"test_{task}_broken.py", "content": "def test(:\n"},
        ]
        return uses("verifier", task, "submit_tests", tests=tests, notes="one for the outcome")
    return _submits(task, file(good, f"test_{task}_blind.py"), file("def test(:\n", f"test_{task}_broken.py"))


def _submits(task: str, *files: dict[str, Any]) -> ScriptedReply:
    return uses("verifier", task, "submit_tests", files=list(files), summary="")


def _count_replies(body: dict[str, Any]) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


HOSTILE: Mapping[str, Callable[[str], ScriptedReply]] = {
    "nonsense": lambda task: reply("assert half(7) == 3.5 # looks fine to me", role="verifier", task=task),
    "garbage": lambda task: uses("verifier", task, "submit_tests", files="all of them"),
    "nothing": _submits,
    "always-red": lambda task: _submits(task, file(RED)),
    "always-green": lambda task: _submits(task, file(GREEN)),
    "told-green": lambda task: _submits(
        task, file(GREEN, base="characterisation"), file(RED, "test_red.py", base="green")
    ),
    "syntax": lambda task: _submits(task, file("def test(:\n")),
    "sleeps": lambda task: _submits(task, file(SLEEPS)),
    "outside": lambda task: _submits(
        task, file("raise SystemExit(0)\n", "conftest.py"), file("", "sitecustomize.py"), file(RED, "../test_up.py"),
        file("def add(a, b):\n    return 0\n", "calc.py"), file("x = 1\n", "test_calc.py"), file(RED, ".git/test_x.py"),
    ),
    "thousands": lambda task: _submits(task, file(MANY)),
}  # fmt: skip
"""Verifiers that are no good, by what is wrong with them; each says the same again and again."""


def does_harm(body: dict[str, Any]) -> ScriptedReply:
    """The hostile verifier that the task is named after, without the number behind it."""
    task = task_of(body["messages"])
    return HOSTILE[task.rpartition("-")[0]](task)
