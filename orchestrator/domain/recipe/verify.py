"""`[verify]`, `[[invariant]]` and `[judge]`: what must hold before anything lands."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.check import ReportFormat
from orchestrator.domain.recipe.field_types import Count, Glob, NonBlank, Regex, Seconds, Slug

Level = Literal["step", "shard", "queue", "final"]


class VerifyCheck(FrozenModel):
    """`[[verify.check]]`: a command that must not lose a test against the base.

    `level` says on what it runs: on one file right after a step (`step`, where `{files}` becomes the file), on a
    shard's changes alone, on the union that is to land (`queue`), or once at the end. `{tests}` in `run` becomes the
    test files that `tests` selects: those of the changed files, also those that import them, or all, for which `all`
    is written; `command` asks `select`, which reads the changed paths and prints test files. A search for the guilty
    of a red union runs only the files of the tests that became red, where `{tests}` lets it.
    """

    id: Slug
    run: NonBlank
    level: Level = "queue"
    report: ReportFormat | None = None
    tests: Literal["changed", "changed+importers", "all", "command"] = "all"
    all: str = ""
    select: str = ""
    timeout_s: Seconds = 1_800.0

    @model_validator(mode="after")
    def _check_selection(self) -> Self:
        if self.tests != "all" and "{tests}" not in self.run:
            raise ValueError(f"tests = '{self.tests}' selects test files: write {{tests}} in run where they go")
        if self.tests == "command" and not self.select.strip():
            raise ValueError("tests = 'command' needs select = \"…\", which reads changed paths and prints test files")
        return self


class Verify(FrozenModel):
    """`[verify]`: how checks report, and what counts as lost.

    no-new-failures: no test that was there is lost, newly red or newly skipped. same-outcomes: nothing is mended
    either, and no test is new. all-green: nothing at all is red. `flaky_reruns` is how often a tree with a few red
    tests is tested again, and how often the base is.
    """

    report: ReportFormat = ReportFormat.AUTO
    policy: Literal["no-new-failures", "all-green", "same-outcomes"] = "no-new-failures"
    flaky_reruns: Annotated[int, Field(ge=0, le=20)] = 1
    coverage: bool = True
    check: Annotated[tuple[VerifyCheck, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_gate(self) -> Self:
        if not any(check.level == "queue" for check in self.check):
            raise ValueError("no check has level = 'queue', so nothing would be tested before it lands")
        return self


_SiteKind = Literal["sites-at-most", "sites-at-least"]
_DiffKind = Literal["no-new-match", "paths-only", "max-diff"]
InvariantKind = Literal[_SiteKind, "tests-not-lost", _DiffKind, "idempotent", "old-source-passes", "command"]
_NEEDS: dict[str, str] = {
    "sites-at-most": "site",
    "sites-at-least": "site",
    "no-new-match": "pattern",
    "paths-only": "paths",
    "max-diff": "lines",
    "command": "run",
}


class Invariant(FrozenModel):
    """`[[invariant]]`: what must be true of every file that lands, beside the tests.

    sites-at-most and sites-at-least bound the sites of kind `site` by `max` and `min`: per file at the levels step,
    shard and queue, in the whole scope at level final. tests-not-lost: no fewer tests ran than on the base.
    no-new-match: `pattern` does not match more often than in the file before. paths-only: nothing beside the globs
    `paths` changed. max-diff: at most `lines` lines of a file changed. idempotent: the steps that made the change make
    no further one. old-source-passes: the changed tests are green on the old sources. command: `run` exits with 0 on
    the tree, `{files}` in it becomes the changed files.
    """

    kind: InvariantKind
    site: str = ""
    max: Count = 0
    min: Count = 1
    pattern: Regex = ""
    paths: tuple[Glob, ...] = ()
    lines: Count = 0
    run: str = ""
    timeout_s: Seconds = 600.0
    level: Level = "shard"

    @model_validator(mode="after")
    def _check_needed_key(self) -> Self:
        needed = _NEEDS.get(self.kind)
        if needed and not getattr(self, needed):
            raise ValueError(f"kind = '{self.kind}' needs {needed}")
        return self


class JudgeRules(FrozenModel):
    """`[judge]`: review of the diffs: none, rules only, or rules and then the judge's model where a model wrote them.

    `max_unrelated_lines` is how many changed lines of a file may lie further than `near` lines from any site. `grants`
    are globs of files that may hold what looks like a forgery.
    """

    diff_review: Literal["none", "rules", "llm"] = "rules"
    role: Literal["judge"] = "judge"
    reject_if: tuple[Literal["out-of-scope-path", "deleted-test", "unrelated-hunk"], ...] = ("out-of-scope-path",)
    max_unrelated_lines: Count = 0
    near: Count = 3
    grants: tuple[str, ...] = ()
