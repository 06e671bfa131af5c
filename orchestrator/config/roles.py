"""`[roles]`: which models the roles speak with, and the lenses through which the judge looks at a change."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from orchestrator.config.extra_parameters import ExtraParameters, ReasoningEffort
from orchestrator.config.quantities import NotNegative, Positive, Seconds, SecondsOrNone
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import FIRST_LENS
from orchestrator.domain.judging.review import LensView
from orchestrator.domain.sandbox.tier import Tier

Instructions = Annotated[str, Field(max_length=8_000)]
"""The user's own words to a role, in characters."""
DEFAULT_CONTEXT_TOKENS = 128_000
"""The window of a model of which neither the configuration nor litellm's list tells."""


def _check_window(tokens: int) -> int:
    if tokens and tokens < _LEAST_CONTEXT_TOKENS:
        raise ValueError(f"should be 0, for what is known of the model, or at least {_LEAST_CONTEXT_TOKENS}")
    return tokens


_LEAST_CONTEXT_TOKENS = 4_000
ContextTokens = Annotated[NotNegative, AfterValidator(_check_window)]


class Fallback(FrozenModel):
    """A model to ask while the usual one cannot be; a name alone stands for a model at its provider's usual place.

    Without `reasoning_effort` it thinks as much as the usual one is to; `extra` is its own alone.
    """

    model: Annotated[str, Field(min_length=1)]
    api_base: str = ""
    api_key_env: str = ""
    reasoning_effort: ReasoningEffort = ""
    extra: ExtraParameters = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _expand_name(cls, data: object) -> object:
        if isinstance(data, str):
            return {"model": data}
        return data


class ModelSettings(FrozenModel):
    """The model that a role speaks with, and how. Empty strings, zeros and a negative temperature mean "not set".

    `context_tokens` 0 stands for the window that is known of the model, `extra` are more parameters of its calls.
    """

    model: str
    api_base: str
    api_key_env: str
    temperature: float
    max_output_tokens: NotNegative
    timeout_s: Seconds
    max_turns: Positive
    context_tokens: ContextTokens
    stall_timeout_s: SecondsOrNone = 0.0
    fallbacks: tuple[Fallback, ...] = ()
    description: str = ""
    instructions: Instructions = ""
    reasoning_effort: ReasoningEffort = ""
    extra: ExtraParameters = Field(default_factory=dict)

    def build_request_fields(self) -> dict[str, Any]:
        """Return what a request takes from these settings; what is not set is None, and stays the provider's."""
        return {
            "model": self.model,
            "api_base": self.api_base or None,
            "api_key_env": self.api_key_env or None,
            "temperature": self.temperature if self.temperature >= 0 else None,
            "max_output_tokens": self.max_output_tokens or None,
            "timeout_s": self.timeout_s,
            "stall_timeout_s": self.stall_timeout_s,
            "reasoning_effort": self.reasoning_effort,
            "extra": self.extra,
        }

    def list_fallback_chain(self) -> "tuple[ModelSettings, ...]":
        """Return these settings, then those with each fallback in place of the model."""
        chain = [self]
        for fallback in self.fallbacks:
            own = fallback.model_dump() | {"fallbacks": ()}
            own["reasoning_effort"] = fallback.reasoning_effort or self.reasoning_effort
            chain.append(self.model_copy(update=own))
        return tuple(chain)


class DefaultModelSettings(FrozenModel):
    """`[roles.default]`: where models are, once for all roles. Empty strings mean "not set"."""

    model: str = ""
    api_base: str = ""
    api_key_env: str = ""


def _inherit_model(role: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """Return a role's values with what it leaves out.

    Address and key go together: whoever names one of them takes neither, so that no key is sent to another's address.
    """
    merged = dict(role)
    merged["model"] = role.get("model") or default.get("model", "")
    if not (role.get("api_base") or role.get("api_key_env")):
        merged |= {name: default.get(name, "") for name in _PLACE}
    return merged


def _disinherit_model(role: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """Return a role's values without what is as in the default, so that this may still change."""
    kept = dict(role)
    if kept["model"] == default["model"]:
        kept["model"] = ""
    if all(kept[name] == default[name] for name in _PLACE):
        kept |= dict.fromkeys(_PLACE, "")
    return kept


_PLACE = ("api_base", "api_key_env")
ROLE_NAMES = ("planner", "worker", "judge", "verifier", "arbiter")


class CommandingSettings(ModelSettings):
    """Settings of roles that may run commands. With `code_mode` they may write programs that use their tools.

    Runs that began before there was such a thing go on without.
    """

    code_mode: bool = False


class VariantSettings(CommandingSettings):
    """`[roles.worker.variants.NAME]`. `engine` names who works: the house's own loop, or one of [engines]."""

    engine: str = "loop"


class PlannerSettings(CommandingSettings):
    """`[roles.planner]`. With commands at all it can only read."""

    tier: Tier = Tier.FILES


_NOT_INHERITED = frozenset({"variants", "description", "tier", "escalate_to"})
"""The keys of `[roles.worker]` that are not its variants'."""


def _inherit_worker(worker: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return a variant's values with the worker's for what it leaves out; parameters of another model are no use."""
    merged = {**worker, **variant}
    if merged.get("model") != worker.get("model") and "extra" not in variant:
        merged.pop("extra", None)
    return merged


class WorkerSettings(VariantSettings):
    """`[roles.worker]`: the usual worker and the variants a planner may ask for."""

    variants: dict[str, VariantSettings] = Field(default_factory=dict)
    escalate_to: tuple[str, ...] = ()
    tier: Tier = Tier.COMMANDS

    @model_validator(mode="before")
    @classmethod
    def _inherit_settings(cls, data: dict[str, Any]) -> dict[str, Any]:
        base = {key: value for key, value in data.items() if key not in _NOT_INHERITED}
        variants = data.get("variants", {})
        if not isinstance(variants, dict):
            return data
        merged = {}
        for name, own in variants.items():
            merged[name] = _inherit_worker(base, own) if isinstance(own, dict) else own
        return data | {"variants": merged}

    @model_validator(mode="after")
    def _know_every_rung(self) -> Self:
        for name in self.escalate_to:
            if name not in self.variants:
                raise ValueError(f"escalate_to names the variant {name!r}, which [roles.worker.variants] does not have")
        return self

    def get_variant(self, name: str | None) -> VariantSettings:
        """Return the settings for a variant, or the usual worker's."""
        return self.variants[name] if name else self

    def iterate_engines(self) -> Iterator[tuple[str, str]]:
        """Yield the engine of each worker, after the key under which it is configured."""
        yield "roles.worker.engine", self.engine
        for name, variant in self.variants.items():
            yield f"roles.worker.variants.{name}.engine", variant.engine

    def choose_variant(self, planned: str | None, tries: int) -> str | None:
        """Return the variant of the next attempt after so many that did not land: each one a rung higher.

        A task whose planner named a variant of the ladder begins there.
        """
        rungs = self.escalate_to
        if planned in rungs:
            rungs = rungs[rungs.index(planned) + 1 :]
        if not tries or not rungs:
            return planned
        return rungs[min(tries, len(rungs)) - 1]


class LensSettings(FrozenModel):
    """`[roles.judge.lenses.NAME]`: a reviewer with a view of its own. What is None is as under [roles.judge]."""

    view: LensView
    when: Literal["always", "flagged", "never"] = "always"
    model: str | None = None
    api_base: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    max_output_tokens: NotNegative | None = None
    timeout_s: Seconds | None = None
    max_turns: Positive | None = None
    context_tokens: ContextTokens | None = None
    stall_timeout_s: SecondsOrNone | None = None
    fallbacks: tuple[Fallback, ...] | None = None
    instructions: Instructions | None = None
    reasoning_effort: ReasoningEffort | None = None
    extra: ExtraParameters | None = None

    @model_serializer(mode="wrap")
    def _dump_own_settings(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return a lens without what it inherits, so that this may still change."""
        return {key: value for key, value in dump(self).items() if value is not None}

    def get_own_settings(self) -> dict[str, Any]:
        """Return the settings that the lens does not inherit, as keys of ModelSettings."""
        names = type(self).model_fields.keys() - {"view", "when"}
        return {name: value for name in sorted(names) if (value := getattr(self, name)) is not None}


_ONE_LENS = MappingProxyType({FIRST_LENS: LensSettings(view=LensView.DIFF)})
"""The lens that reviewed in runs that began before lenses could be configured."""
_LensName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]


class JudgeSettings(ModelSettings):
    """`[roles.judge]`: who judges iterations, and whose settings the lenses inherit. They are asked in this order."""

    lenses: dict[_LensName, LensSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _require_reviewer(self) -> "JudgeSettings":
        if all(lens.when != "always" for lens in (self.lenses or _ONE_LENS).values()):
            raise ValueError("one of the lenses has to be asked always, or nobody might review a change")
        return self

    @property
    def active_lenses(self) -> Mapping[str, LensSettings]:
        """The lenses that may be asked, in their order."""
        return {name: lens for name, lens in (self.lenses or _ONE_LENS).items() if lens.when != "never"}

    def get_lens_settings(self, name: str | None) -> ModelSettings:
        """Return a lens's model settings; the judge's without a name, or with one that is not configured."""
        own = self.lenses[name].get_own_settings() if name in self.lenses else {}
        if own.get("model", self.model) != self.model:
            own = {"extra": {}, **own}
        return self.model_copy(update=own)


class VerifierSettings(ModelSettings):
    """`[roles.verifier]`: who writes tests from a task without seeing the change, and for which tasks.

    Without a model there is no verifier. `when` says for which tasks, `goal` whether it proposes checks of the whole.
    """

    when: Literal["off", "planned", "no-tests", "always"] = "no-tests"
    goal: Literal["off", "propose"] = "off"
    max_files: Annotated[int, Field(ge=1, le=20)] = 4
    tests_timeout_s: Seconds = 300.0

    @property
    def is_active(self) -> bool:
        """True if it may be asked about tasks."""
        return bool(self.model) and self.when != "off"


_NO_MODEL: Mapping[str, Any] = {
    "model": "",
    "api_base": "",
    "api_key_env": "",
    "temperature": -1.0,
    "max_output_tokens": 0,
    "timeout_s": 600,
    "context_tokens": 0,
}
"""The settings of a role that runs have not named a model for."""


def _build_no_verifier() -> VerifierSettings:
    """Return the verifier of runs that began before there was one."""
    return VerifierSettings.model_validate({**_NO_MODEL, "max_turns": 1, "when": "off"})


class ArbiterSettings(CommandingSettings):
    """`[roles.arbiter]`: who brings together what clashed. Without a model of its own it asks the judge's."""


def _build_arbiter() -> ArbiterSettings:
    """Return the arbiter of runs that began before there was one."""
    return ArbiterSettings.model_validate({**_NO_MODEL, "max_turns": 60})


class RoleSettings(FrozenModel):
    """`[roles]`. What a role does not say of its model, and where that is, `default` says."""

    default: DefaultModelSettings = DefaultModelSettings()
    planner: PlannerSettings
    worker: WorkerSettings
    judge: JudgeSettings
    verifier: VerifierSettings = Field(default_factory=_build_no_verifier)
    arbiter: ArbiterSettings = Field(default_factory=_build_arbiter)

    def get_arbiter_settings(self) -> ArbiterSettings:
        """Return the arbiter's settings, with the judge's model, or else the worker's, if it has none of its own."""
        if self.arbiter.model:
            return self.arbiter
        lender: ModelSettings = self.judge if self.judge.model else self.worker
        lent = {name: getattr(lender, name) for name in ("model", *_PLACE, "fallbacks", "context_tokens")}
        for name in ("reasoning_effort", "extra"):
            lent[name] = getattr(self.arbiter, name) or getattr(lender, name)
        return self.arbiter.model_copy(update=lent)

    @model_validator(mode="before")
    @classmethod
    def _inherit_default(cls, data: object) -> object:
        if not isinstance(data, Mapping) or not isinstance(default := data.get("default"), Mapping):
            return data
        merged = dict(data)
        for name in ROLE_NAMES:
            if isinstance(role := data.get(name), Mapping):
                merged[name] = _inherit_model(role, default)
        return merged

    @model_serializer(mode="wrap")
    def _dump_own_settings(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the roles without what they inherit, so that this may still change."""
        values: dict[str, Any] = dump(self)
        worker = values.get("worker", {})
        for variant in worker.get("variants", {}).values():
            if all(variant[name] == worker[name] for name in _PLACE):
                for name in _PLACE:
                    del variant[name]
        for name in ROLE_NAMES:
            if name in values:
                values[name] = _disinherit_model(values[name], values["default"])
        return values

    @model_validator(mode="after")
    def _refuse_blanket_tier(self) -> "RoleSettings":
        if Tier.EVERYTHING in (self.planner.tier, self.worker.tier):
            raise ValueError("tier 3 is granted to single tasks only: hands.tiers, or `orchestrate approve`")
        return self
