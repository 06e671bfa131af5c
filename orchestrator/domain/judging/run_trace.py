"""The record of what one run of a check did beside its tests' outcomes: what it read, loaded, wrote and replaced.

Paths are relative to the repository's root, with `/`. Nothing in it is evidence by itself: rules compare the record of
a candidate with that of its base.
"""

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel


class ReplacedFunction(FrozenModel):
    """A function of the runner, of Python or of an installed package whose code lies in the workspace.

    `name` is dotted, with its module (`json.loads`); `path` and `line` are where its code stands.
    """

    name: str
    path: str
    line: int


class LenientComparison(FrozenModel):
    """An object of a class of the workspace that was equal to more than the value a test compared it with.

    `class_name` is dotted, `path` and `line` are those of its comparison, `test` is the id of the test that compared
    it, `expected` and `also_equal` are short representations of the value and of another one that it was equal to.
    `is_foreign` is true if the other one is of a kind that nothing can be equal to by accident.
    """

    class_name: str
    path: str
    line: int
    test: str
    expected: str
    also_equal: str
    is_foreign: bool = False


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
    """

    modules: dict[str, str] = Field(default_factory=dict)
    foreign_modules: tuple[str, ...] = ()
    plugins: tuple[LoadedPlugin, ...] = ()
    replaced: tuple[ReplacedFunction, ...] = ()
    lenient: tuple[LenientComparison, ...] = ()
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
