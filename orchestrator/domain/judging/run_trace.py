"""The record of what one run of a check did beside its tests' outcomes: what it read, loaded, wrote and replaced.

Paths are relative to the repository's root, with `/`. Nothing in it is evidence by itself: rules compare the record of
a candidate with that of its base.
"""

from typing import Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel


class ReplacedFunction(FrozenModel):
    """A function of the runner, of Python or of an installed package whose code lies in the workspace.

    `name` is dotted, with its module (`json.loads`); `path` and `line` are where its code stands.
    """

    name: str
    path: str
    line: int


OtherValue = Literal["foreign", "changed", "near", "case", "builtin"]
"""The kinds of other values that an object can be equal to: of a class that it cannot know, of another content, a near
number, a text in other letters. With `builtin` the object passes for a value of the built-in class that it is of."""


class LenientComparison(FrozenModel):
    """An object of a class of the workspace that was equal to more than the value a test compared it with.

    `class_name` is dotted, `path`, `line` and `end_line` are those of its comparison (line 0: it stands in no file), by
    `operator`; `test` is the id of the test that compared it, `expected` and `also_equal` are short representations of
    the value and of another one that it was equal to.
    """

    class_name: str
    path: str
    line: int
    end_line: int
    test: str
    operator: str
    kind: OtherValue
    expected: str
    also_equal: str


class FunctionCall(FrozenModel):
    """A call of a function of the workspace while tests ran, and how it ended.

    `name` is dotted within `module`, `arguments` are pickled and in base64. `ending` is `returned` or `raised`, and
    `digest` stands for the result's type and content, or names the exception; `shown` is its beginning for people.
    """

    path: str
    line: int
    end_line: int
    module: str
    name: str
    arguments: str
    ending: str
    digest: str
    shown: str


class LoadedPlugin(FrozenModel):
    """A plugin or hook file that the test runner had in force; `path` is empty if it lies outside the workspace."""

    name: str
    path: str = ""


class GuardReport(FrozenModel):
    """The report of the guard, from inside the process that ran the tests.

    `modules` maps the dotted name of each module that was loaded from the workspace to its path, `foreign_modules` are
    the top-level names of all others. `problems` say, in words for a worker, what went wrong around the outcomes, such
    as a process that ended early; `doubts` which of the `canaries` ended otherwise than they must. `is_exit_hidden` is
    true if the process exited with 0 after its runner had ended with another status.
    `calls` are those of functions that were to be recorded, `python` is the interpreter that made them.
    """

    modules: dict[str, str] = Field(default_factory=dict)
    foreign_modules: tuple[str, ...] = ()
    plugins: tuple[LoadedPlugin, ...] = ()
    replaced: tuple[ReplacedFunction, ...] = ()
    lenient: tuple[LenientComparison, ...] = ()
    calls: tuple[FunctionCall, ...] = ()
    python: str = ""
    canaries: int = 0
    doubts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    is_exit_hidden: bool = False


class RunTrace(FrozenModel):
    """The record of one run of a check on one tree.

    `opened` are files of the workspace that the run opened, `written` those files of the tree that it wrote, replaced
    or removed, also where they were as before at the end. Both are None where nothing could watch. `guards` are the
    reports of the guarded test runners that the check started, in order; empty where none was, and `unguarded` says
    why.
    """

    opened: tuple[str, ...] | None = None
    written: tuple[str, ...] | None = None
    guards: tuple[GuardReport, ...] = ()
    unguarded: str = ""
