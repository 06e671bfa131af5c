"""`[[step]]`: the rungs of the ladder that files climb."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.recipe.field_types import (
    AtLeastOne,
    Glob,
    Regex,
    Seconds,
    Slug,
    build_key_problem,
    check_rewrite,
)

StepKind = Literal["command", "rewrite", "llm", "human"]
CONTEXT_NAMES = ("file", "original", "codemod_diff", "failures", "siblings", "examples")
"""What a model can be shown, each as `{name}` or, with how many at most, `{name:3}`."""
_OF_KIND: dict[str, frozenset[str]] = {
    "command": frozenset({"run", "per", "ok_exit", "reads"}),
    "rewrite": frozenset({"engine", "language", "pattern", "rewrite", "rule"}),
    "llm": frozenset({"role", "prompt", "context", "context_tokens", "attempts", "budget_usd"}),
    "human": frozenset({"note"}),
}
_ANY = frozenset({"id", "kind", "when", "on_signature", "start", "timeout_s", "must_parse", "idempotent"})


class Step(FrozenModel):
    """One rung.

    `when` says which files it takes: always; sites (files with a site, or all if the recipe counts none); sites-left
    (files that still have one); failed (files that an earlier rung could not bring through), of these only the ones
    whose failure has a signature that `on_signature` finds. `start` is what the step is given of a file that failed:
    the content that failed (`tried`), or the `original`; `auto` takes what failed if it was the checks that said no,
    and the original if a step itself left the file broken. With `idempotent` a step that changes its own result once
    more has failed; that is tried on the sample, or on the first files without one.

    command: `run` holds `{files}`, which becomes the file (per = file) or all files (per = shard); `reads` are globs of
    further files on whose content the result rests. rewrite: `pattern` becomes `rewrite`, by regular expression or by
    ast-grep, whose rule may stand in a file beside the recipe (`rule`) instead. llm: the model of `role` edits the
    file; each of `attempts` has its own size of context in `context_tokens`, the last holds for the rest; `prompt` is a
    file of instructions beside the recipe, or the text itself. human: what is left waits for a person.
    """

    id: Slug
    kind: StepKind = "command"
    when: Literal["always", "sites", "sites-left", "failed"] = "sites"
    on_signature: Regex = ""
    start: Literal["auto", "tried", "original"] = "auto"
    timeout_s: Seconds = 120.0
    must_parse: bool = True
    idempotent: bool = False

    run: str = ""
    per: Literal["file", "shard"] = "file"
    ok_exit: tuple[int, ...] = (0,)
    reads: tuple[Glob, ...] = ()

    engine: Literal["regex", "ast-grep"] = "regex"
    language: str = ""
    pattern: str = ""
    rewrite: str | None = None
    rule: str = ""

    role: Literal["worker"] = "worker"
    prompt: str = ""
    context: tuple[str, ...] = ("{file}", "{codemod_diff}", "{failures}", "{siblings:2}", "{examples:3}")
    context_tokens: Annotated[tuple[AtLeastOne, ...], Field(min_length=1)] = (8_000, 40_000, 100_000)
    attempts: Annotated[int, Field(ge=1, le=100)] = 4
    budget_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    note: bool = False

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        foreign = sorted(self.model_fields_set - _ANY - _OF_KIND[self.kind])
        said = []
        for name in foreign:
            if getattr(self, name) != type(self).model_fields[name].default:
                said.append(name)
        if said:
            allowed = ", ".join(sorted(_OF_KIND[self.kind]))
            told = f"kind = '{self.kind}' has no {', '.join(foreign)}; of its own it has {allowed}"
            raise build_key_problem((said[0],), told)
        if self.on_signature and self.when != "failed":
            raise build_key_problem(("on_signature",), "it goes with when = 'failed'")
        getattr(self, f"_check_{self.kind}")()
        return self

    def _check_command(self) -> None:
        if "{files}" not in self.run:
            raise build_key_problem(("run",), "run does not say where the files go: write {files} in it")

    def _check_rewrite(self) -> None:
        if self.engine == "ast-grep" and self.rule:
            return
        if not self.pattern or self.rewrite is None:
            raise ValueError("kind = 'rewrite' needs a pattern and a rewrite")
        if self.engine == "ast-grep" and not self.language:
            raise ValueError("engine = 'ast-grep' needs a language, such as python or typescript")
        if self.engine == "regex":
            try:
                check_rewrite(self.pattern, self.rewrite)
            except ValueError as error:
                raise build_key_problem(("rewrite",), str(error)) from error

    def _check_llm(self) -> None:
        for place, item in enumerate(self.context):
            name = item.strip("{}").partition(":")[0]
            if name not in CONTEXT_NAMES or not (item.startswith("{") and item.endswith("}")):
                told = f"{item!r} is nothing a model can be shown: write one of {{{'}, {'.join(CONTEXT_NAMES)}}}"
                raise build_key_problem(("context", place), told)

    def _check_human(self) -> None:
        """It needs nothing."""

    def dump_result_settings(self) -> dict[str, object]:
        """What of the step decides its result: everything but when it is taken."""
        left_out = {"id", "when", "on_signature", "timeout_s", "idempotent", "budget_usd", "note"}
        return self.model_dump(mode="json", exclude=left_out)
