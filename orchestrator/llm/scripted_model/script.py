"""The script format that `scripted:FILE` models and loopback servers play: what each role answers, in order.

A script is a TOML file (or JSON, if its name ends so) with `schema = 1` and `[[reply]]` items; see `ScriptedReply` for
their keys.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.money import MAX_DOLLARS
from orchestrator.errors import UsageProblem
from orchestrator.llm.errors import ERROR_CLASSES, ModelError
from orchestrator.llm.output_parsing import CONTAINER_ERRORS, format_location

SCRIPTED_PREFIX = "scripted:"
"""The names of models that begin with this are paths of scripts."""
ANY_TASK = "*"

WireFailure = Literal["disconnect", "truncated", "unfinished", "malformed", "empty", "stalled"]
"""How a loopback server lets a call fail as `unavailable` (without it, a plain 500) or, if `stalled`, as `timed-out`
(without it, silence). A scripted model ignores it."""


ScriptedPrice = Annotated[Decimal, Field(ge=0, le=MAX_DOLLARS)]
REPLY_TABLE = compile_lazily(r"^[ \t]*\[\[\s*reply\s*\]\]", re.MULTILINE)


class ScriptedCall(FrozenModel):
    """A tool call to make: `arguments` as a table, or `raw` as the text itself, for arguments that are no JSON."""

    tool: str
    arguments: dict[str, Any] | None = None
    raw: str | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.arguments is None) == (self.raw is None):
            raise ValueError("give either `arguments` or `raw`")
        return self

    @property
    def text(self) -> str:
        """The arguments as the model writes them."""
        if self.raw is not None:
            return self.raw
        return json.dumps(self.arguments, ensure_ascii=False, default=str)


class ScriptedUsage(FrozenModel):
    """Tokens that the reply claims; `cached` are part of `input`."""

    input: int = Field(0, ge=0)
    output: int = Field(0, ge=0)
    cached: int = Field(0, ge=0)


class ScriptedReply(FrozenModel):
    """One item of a script: a reply, or an `error` instead of one.

    `task` may be `*`: a sequence that every task of the role without replies of its own plays for itself.
    `model` is what answers by its own account. `cost_usd` is 0 unless said otherwise, since nothing is billed;
    `unknown` makes an unpriced call. `delay_s` is waited before the reply or the error.
    """

    role: Role
    task: str
    model: str | None = None
    text: str = ""
    call: tuple[ScriptedCall, ...] = ()
    finish_reason: str | None = None
    delay_s: float = Field(0.0, ge=0, allow_inf_nan=False)
    error: str | None = None
    retry_after_s: float | None = Field(None, ge=0, allow_inf_nan=False)
    wire: WireFailure | None = None
    usage: ScriptedUsage = ScriptedUsage()
    cost_usd: ScriptedPrice | Literal["unknown"] = Decimal(0)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.error is not None and self.error not in ERROR_CLASSES:
            raise ValueError(f"unknown error {self.error!r}; known: {', '.join(sorted(ERROR_CLASSES))}")
        if self.error is not None and (self.text or self.call):
            raise ValueError("an item with `error` has neither `text` nor `call`")
        if self.error is None and not self.text and not self.call and not self.finish_reason:
            raise ValueError(
                "an item needs `text`, `call` or `error`; a reply without words or calls needs `finish_reason`"
            )
        belongs_to = "timed-out" if self.wire == "stalled" else "unavailable"
        if self.wire is not None and self.error != belongs_to:
            raise ValueError(f'`wire` belongs to `error = "{belongs_to}"`')
        if self.retry_after_s is not None and self.error is None:
            raise ValueError("`retry_after_s` belongs to an `error`")
        return self

    @property
    def effective_finish_reason(self) -> str:
        """The finish reason in the words of OpenAI's interface."""
        return self.finish_reason or ("tool_calls" if self.call else "stop")

    @property
    def booked_usage(self) -> Usage:
        """The usage that the call is recorded with."""
        used = self.usage
        usage = Usage(calls=1, input_tokens=used.input, cached_tokens=used.cached, output_tokens=used.output)
        if self.cost_usd == "unknown":
            return usage.model_copy(update={"unpriced_calls": 1})
        return usage.model_copy(update={"cost_usd": Decimal(self.cost_usd)})

    def build_error(self, where: str) -> ModelError | None:
        """Return the error to raise instead of a reply, or None."""
        if self.error is None:
            return None
        return ERROR_CLASSES[self.error](f"{where}: scripted {self.error}", self.retry_after_s)


class Script(FrozenModel):
    """A whole script."""

    version: Literal[1] = Field(alias="schema")
    reply: tuple[ScriptedReply, ...] = ()


def read_script(path: Path) -> tuple[ScriptedReply, ...]:
    """Return the replies of a script file, in file order.

    Raises:
        UsageProblem: the file cannot be read, is no TOML, or has an unknown key or a wrong value; says where.
    """
    try:
        text = path.read_text(encoding="utf-8")
        document = decode_json(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as problem:
        raise UsageProblem(f"cannot read the script {path}: {problem.strerror or problem}") from problem
    except (ValueError, RecursionError) as problem:  # no UTF-8, no TOML, no JSON, nested too deeply
        raise UsageProblem(f"the script {path} is not valid TOML or JSON: {problem}") from problem
    try:
        return Script.model_validate(document).reply
    except ValidationError as problem:
        errors = problem.errors(include_url=False)[:10]
        lines = [f"  {_format_place(error['loc'], text, document)}: {_describe_problem(error)}" for error in errors]
        raise UsageProblem(f"the script {path} cannot be played:\n" + "\n".join(lines)) from problem


def _describe_problem(error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key"
    if error["type"] in CONTAINER_ERRORS and not error["loc"]:
        return "has to be a table with `schema = 1` and items of [[reply]]"
    return error["msg"].removeprefix("Value error, ")


def _format_place(location: tuple[int | str, ...], text: str, document: object) -> str:
    """Return a place such as `reply[2].call[0].tool (role worker, task api, near line 14)`; items count from 0."""
    place = format_location(location)
    if len(location) > 1 and location[0] == "reply" and isinstance(location[1], int):
        item = _get_item(document, location[1])
        tables, line = list(REPLY_TABLE.finditer(text)), ""
        if len(tables) > location[1]:
            number = text.count("\n", 0, tables[location[1]].start(0)) + 1
            line = f", near line {number}"
        place += f" (role {item.get('role', '?')}, task {item.get('task', '?')}{line})"
    return place or "the document"


def _get_item(document: object, number: int) -> Mapping[str, Any]:
    """Return an item of a script; an empty one where something of another kind stands."""
    if not isinstance(document, Mapping) or not isinstance(document.get("reply"), list):
        return {}
    item = document["reply"][number]
    return item if isinstance(item, Mapping) else {}
