"""`[[step]]`: the rungs of the ladder that files climb, a model for each kind."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, TypeAdapter, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.recipe import field_types

StepKind = Literal["command", "rewrite", "llm", "human"]
CONTEXT_NAMES = ("file", "original", "codemod_diff", "failures", "siblings", "examples")
"""What a model can be shown, each as `{name}` or, with how many at most, `{name:3}`."""


class StepKeys(FrozenModel):
    """The keys that every kind of step has.

    `when` says which files it takes: always; sites (files with a site, or all if the recipe counts none); sites-left
    (files that still have one); failed (files that an earlier rung could not bring through), of these only the ones
    whose failure has a signature that `on_signature` finds. `start` is what the step is given of a file that failed:
    the content that failed (`tried`), or the `original`; `auto` takes what failed if it was the checks that said no,
    and the original if a step itself left the file broken. With `max_passes` a step runs on its own result until it
    changes nothing more; a file that it still changes in the last pass has failed. With `idempotent` that is so in the
    second pass.
    """

    id: field_types.Slug
    kind: StepKind
    when: Literal["always", "sites", "sites-left", "failed"] = "sites"
    on_signature: field_types.Regex = ""
    start: Literal["auto", "tried", "original"] = "auto"
    timeout_s: field_types.Seconds = 120.0
    must_parse: bool = True
    idempotent: bool = False
    max_passes: Annotated[int, Field(ge=1, le=100)] = 1

    @model_validator(mode="before")
    @classmethod
    def _drop_default_keys_of_other_kinds(cls, values: object) -> object:
        """Refuse keys of other kinds, but not where they hold what they have by default."""
        if not isinstance(values, Mapping):
            return values
        foreign = {name: _KEYS[name] for name in sorted(_KEYS.keys() & values.keys() - cls.model_fields.keys())}
        for name, default in foreign.items():
            if not _is_default(values[name], default):
                kind = values.get("kind", "command")
                own = sorted(cls.model_fields.keys() - StepKeys.model_fields.keys())
                text = f"kind = '{kind}' has no {', '.join(foreign)}; of its own it has {', '.join(own)}"
                raise field_types.build_key_problem((name,), text)
        return {name: value for name, value in values.items() if name not in foreign}

    @model_validator(mode="after")
    def _check_on_signature(self) -> "StepKeys":
        if self.on_signature and self.when != "failed":
            raise field_types.build_key_problem(("on_signature",), "it goes with when = 'failed'")
        return self

    @property
    def pass_limit(self) -> int:
        """How often a file goes through the step at most; the last time it must not be changed any more."""
        return max(self.max_passes, 2 if self.idempotent else 1)

    @property
    def takes_shard(self) -> bool:
        """True for a step that is given all files of a shard at once."""
        return False

    @property
    def takes_tree(self) -> bool:
        """True for a step that is given the repository as a whole."""
        return False

    @property
    def takes_together(self) -> bool:
        """True if one call gets several files, so that the result for one rests on all of them."""
        return self.takes_shard or self.takes_tree

    @property
    def runs_in_process(self) -> bool:
        """True if the step needs no sandbox."""
        return False

    def accepts_exit(self, code: int | None) -> bool:
        """Return True if an exit code is no failure."""
        return code == 0

    def dump_result_settings(self) -> dict[str, object]:
        """Return the settings that decide the step's result: all but those that say when it is taken."""
        left_out = {"id", "when", "on_signature", "timeout_s", "idempotent", "max_passes", "budget_usd", "note"}
        return self.model_dump(mode="json", exclude=left_out)


class CommandStep(StepKeys):
    """`run` holds `{files}`, which becomes the file (per = file) or all files (per = shard).

    With per = tree the command runs once over the repository as a whole and says itself what it works on: `run` holds
    no `{files}`, `when` is always, and `timeout_s` holds for all files together. Its change is divided into the files
    of the scope, which land or are sent back as those of other steps. `reads` are globs of further files on whose
    content the result rests.
    """

    kind: Literal["command"] = "command"
    run: str = ""
    per: Literal["file", "shard", "tree"] = "file"
    ok_exit: tuple[int, ...] = (0,)
    reads: tuple[field_types.Glob, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _fill_in_keys_of_tree_steps(cls, values: object) -> object:
        """Take the files that a command over the whole tree changes, whatever sites they have."""
        if isinstance(values, Mapping) and values.get("per") == "tree":
            return {"when": "always"} | dict(values)
        return values

    @property
    def takes_shard(self) -> bool:
        """True if one call gets all files of a shard."""
        return self.per == "shard"

    @property
    def takes_tree(self) -> bool:
        """True if one call gets the repository."""
        return self.per == "tree"

    def accepts_exit(self, code: int | None) -> bool:
        """Return True if the exit code is one of `ok_exit`."""
        return code in self.ok_exit

    @model_validator(mode="after")
    def _check_run(self) -> "CommandStep":
        if self.takes_tree:
            return self._check_tree_step()
        if "{files}" not in self.run:
            text = "run does not say where the files go: write {files} in it, or per = 'tree' for a command that takes "
            raise field_types.build_key_problem(("run",), f"{text}the repository as a whole")
        return self

    def _check_tree_step(self) -> "CommandStep":
        if not self.run.strip():
            raise field_types.build_key_problem(("run",), "a command is needed")
        if "{files}" in self.run:
            text = "per = 'tree' gets no {files}: name the folders that the command works on, such as . or src"
            raise field_types.build_key_problem(("run",), text)
        if self.when != "always":
            text = f"{self.when!r} does not go with per = 'tree': the command says itself which files it changes"
            raise field_types.build_key_problem(("when",), text)
        return self


class RewriteStep(StepKeys):
    """`pattern` becomes `rewrite`, by regular expression or by ast-grep.

    For ast-grep the text of a rule (`rule`) may stand in place of both; in the file it is the name of the rule's file.
    """

    kind: Literal["rewrite"]
    engine: Literal["regex", "ast-grep"] = "regex"
    language: str = ""
    pattern: str = ""
    rewrite: str | None = None
    rule: str = ""

    @property
    def runs_in_process(self) -> bool:
        """True if it is done by a regular expression, which needs no sandbox."""
        return self.engine == "regex"

    @model_validator(mode="after")
    def _check_pattern(self) -> "RewriteStep":
        if self.engine == "ast-grep" and self.rule:
            return self
        if not self.pattern or self.rewrite is None:
            raise ValueError("kind = 'rewrite' needs a pattern and a rewrite")
        if self.engine == "ast-grep" and not self.language:
            raise ValueError("engine = 'ast-grep' needs a language, such as python or typescript")
        if self.engine == "regex":
            try:
                field_types.check_rewrite(self.pattern, self.rewrite)
            except ValueError as error:
                raise field_types.build_key_problem(("rewrite",), str(error)) from error
        return self


class ModelStep(StepKeys):
    """The model of `role` edits the file, with a size of context for each attempt.

    The last of `context_tokens` holds for all further attempts. `prompt` is the text of the instructions; in the file
    it may be the name of a file beside the recipe.
    """

    kind: Literal["llm"]
    role: Literal["worker"] = "worker"
    prompt: str = ""
    context: tuple[str, ...] = ("{file}", "{codemod_diff}", "{failures}", "{siblings:2}", "{examples:3}")
    context_tokens: Annotated[tuple[field_types.AtLeastOne, ...], Field(min_length=1)] = (8_000, 40_000, 100_000)
    attempts: Annotated[int, Field(ge=1, le=100)] = 4
    budget_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @model_validator(mode="after")
    def _check_context(self) -> "ModelStep":
        for place, item in enumerate(self.context):
            name = item.strip("{}").partition(":")[0]
            if name not in CONTEXT_NAMES or not (item.startswith("{") and item.endswith("}")):
                text = f"{item!r} is nothing a model can be shown: write one of {{{'}, {'.join(CONTEXT_NAMES)}}}"
                raise field_types.build_key_problem(("context", place), text)
        return self


class HumanStep(StepKeys):
    """The files that are left wait for a person; with `note` a comment in each says why."""

    kind: Literal["human"]
    note: bool = False


STEP_MODELS: tuple[type[StepKeys], ...] = (CommandStep, RewriteStep, ModelStep, HumanStep)
_TAGS: dict[str, str] = {kind: model.__name__ for kind, model in zip(get_args(StepKind), STEP_MODELS, strict=True)}


def _list_own_keys() -> dict[str, object]:
    """Return the default of every key that only some kinds have, by its name."""
    found = {}
    for model in STEP_MODELS:
        for name, field in model.model_fields.items():
            if name not in StepKeys.model_fields:
                found[name] = field.default
    return found


_KEYS = _list_own_keys()


def _is_default(value: object, default: object) -> bool:
    """Return True if a value from TOML, which has lists for tuples, is the default."""
    if isinstance(value, list):
        value = tuple(value)
    return value == default


def _read_kind(values: Any) -> str:  # noqa: ANN401  whatever the file holds
    if isinstance(values, Mapping):
        return str(values.get("kind", "command"))
    return str(getattr(values, "kind", "command"))


def _check_kind(values: object) -> object:
    if _read_kind(values) not in _TAGS:
        raise field_types.build_key_problem(("kind",), "Input should be 'command', 'rewrite', 'llm' or 'human'")
    return values


Step = Annotated[
    Annotated[CommandStep, Tag("CommandStep")]
    | Annotated[RewriteStep, Tag("RewriteStep")]
    | Annotated[ModelStep, Tag("ModelStep")]
    | Annotated[HumanStep, Tag("HumanStep")],
    Discriminator(lambda values: _TAGS[_read_kind(values)]),
    BeforeValidator(_check_kind),
]
"""One rung, of any kind; without `kind` it is a command."""
TransformStep = CommandStep | RewriteStep
"""A step that works on files without asking anybody."""
_STEP: TypeAdapter[Step] = TypeAdapter(Step, config=ConfigDict(defer_build=True))


def parse_step(values: Mapping[str, Any]) -> Step:
    """Return a step from its keys.

    Raises:
        ValidationError: the keys are not those of a step.
    """
    return _STEP.validate_python(values)
