"""Regular expressions that are compiled at their first use: each one in the house can be, and behaves as `re`'s do."""

import gc
import importlib
import pkgutil
import re
import subprocess
import sys

import orchestrator
from orchestrator.domain.text.lazy_pattern import LazyPattern, compile_lazily

_COMPILED = """
import re, sys
before = re._compile
compiled = []

def compile_and_note(pattern, flags):
    caller = sys._getframe(2).f_globals["__name__"]
    if caller.startswith("orchestrator."):
        compiled.append(f"{caller}: {pattern!r}")
    return before(pattern, flags)

re._compile = compile_and_note
import orchestrator.cli.run.engine, orchestrator.engine.goal.run, orchestrator.engine.goal.later_steps
import orchestrator.migrate.run.runner
print("\\n".join(compiled))
"""


def test_every_expression_in_the_house_can_be_compiled() -> None:
    for module in pkgutil.walk_packages(orchestrator.__path__, "orchestrator."):
        if not module.name.startswith(("orchestrator.demo.sample", "orchestrator.tui.web", "orchestrator.__main__")):
            importlib.import_module(module.name)
    gc.unfreeze()  # what a verb loads is frozen, and what the tests load
    patterns = [one for one in gc.get_objects() if type(one) is LazyPattern]
    gc.freeze()
    assert len(patterns) > 200
    for pattern in patterns:
        assert pattern.compiled.pattern == pattern.pattern


def test_it_is_used_like_a_pattern() -> None:
    pattern = compile_lazily(r"(?P<first>A)b", re.IGNORECASE)
    assert "compiled" not in vars(pattern)
    assert pattern.pattern == r"(?P<first>A)b"
    found = pattern.fullmatch("aB")
    assert found is not None
    assert (found["first"], found.re.flags & re.IGNORECASE) == ("a", re.IGNORECASE)
    assert pattern.sub("-", "ab AB") == "- -"
    assert vars(pattern)["sub"] == pattern.sub
    assert compile_lazily(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_an_engine_compiles_none_of_the_house_when_it_is_loaded() -> None:
    """Only what takes secrets out compiles its own, as it is lower than the room of texts and needed at once."""
    done = subprocess.run([sys.executable, "-c", _COMPILED], capture_output=True, text=True, check=True)
    others = [line for line in done.stdout.splitlines() if line and not line.startswith("orchestrator.redact.")]
    assert others == []
