"""The inside of code mode: takes a program with the sources of its tools from standard input, and runs it.

Run as a script of its own by the interpreter inside: standard library only. What ends the program is told by the
program's own lines.
"""

import importlib.abc
import importlib.util
import json
import linecache
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_PROGRAM = "program.py"
_MAX_FRAMES = 10


class BundledModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from sources in memory, by their names; what is above them are packages."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a bundled module, or of a package above one."""
        is_package = any(name.startswith(f"{fullname}.") for name in self._sources)
        if not is_package and fullname not in self._sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=is_package)

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's source; a package without one is empty."""
        name = module.__name__
        exec(compile(self._sources.get(name, ""), name, "exec", dont_inherit=True), vars(module))


def run_program(source: str) -> int:
    """Run a program; return 1 if an error ended it, which is printed with the program's own lines."""
    linecache.cache[_PROGRAM] = (len(source), None, source.splitlines(keepends=True), _PROGRAM)
    module = ModuleType("__main__")
    sys.modules["__main__"] = module  # where pickles and dataclasses look a program's own names up
    try:
        exec(compile(source, _PROGRAM, "exec", dont_inherit=True), vars(module))
    except Exception as error:  # noqa: BLE001 - whatever a program raises is told to who wrote it
        sys.stdout.flush()
        _print_error(error)
        return 1
    return 0


def _print_error(error: Exception) -> None:
    shown = traceback.TracebackException.from_exception(error, compact=True)
    own = [frame for frame in shown.stack if frame.filename == _PROGRAM]
    shown.stack = traceback.StackSummary.from_list(own[-_MAX_FRAMES:])
    sys.stderr.writelines(shown.format(chain=False))


def main() -> None:
    """Read the order, make the tools importable, run the program."""
    order = json.load(sys.stdin)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.meta_path.insert(0, BundledModules(order["sources"]))
    sys.argv = [_PROGRAM]
    from orchestrator.agent.program.program_tools import ProgramTools

    record = os.environ.pop(order["record"], None)
    tools = ProgramTools(Path.cwd(), Path(record) if record else None).build_module()
    sys.modules["tools"] = tools
    for name in ("Match", "Result", "Refused"):  # as a program's errors and prints name them
        kind = vars(tools)[name]
        kind.__module__, kind.__name__, kind.__qualname__ = "tools", name, name
    sys.exit(run_program(order["program"]))


if __name__ == "__main__":
    main()
