"""The models that a configuration names for the roles, and what is wrong with them. Loads no role."""

from collections.abc import Collection, Iterator, Sequence

from orchestrator.config.engines import LOOP
from orchestrator.config.roles import ModelSettings, RoleSettings
from orchestrator.llm.scripted_model.script import SCRIPTED_PREFIX
from orchestrator.ports.model_client import ModelClient

_WHERE = frozenset({"model", "api_base", "api_key_env", "fallbacks"})


async def find_model_problems(roles: RoleSettings, client: ModelClient, wanted: Collection[str] = ()) -> Sequence[str]:
    """Return what is wrong with the configured models and credentials, a sentence per role; `wanted` limits them."""
    problems = []
    for name, settings in iterate_configured_models(roles):
        if wanted and name.partition(".")[0] not in wanted:
            continue
        if not settings.model:
            problems.append(f"no model is configured for the {name}: set roles.{name}.model or --model {name}=MODEL")
        elif found := await client.find_model_problem(
            settings.model, settings.api_base or None, settings.api_key_env or None
        ):
            problems.append(f"{name}: {found}")
    return problems


def needs_providers(roles: RoleSettings) -> bool:
    """Return True if a configured model is a provider's, and not one that a script plays."""
    for _, settings in iterate_configured_models(roles):
        if settings.model and not settings.model.startswith(SCRIPTED_PREFIX):
            return True
    return False


def iterate_configured_models(roles: RoleSettings) -> Iterator[tuple[str, ModelSettings]]:
    """Yield the models of all roles, with the name under which each is configured.

    These are the roles', the arbiter's if it has one of its own, the worker's variants', those of lenses that name a
    model or place of their own, and all fallbacks. A worker that is an agent of another maker has none.
    """
    yield from _chain("planner", roles.planner)
    if roles.worker.engine == LOOP:
        yield from _chain("worker", roles.worker)
    yield from _chain("judge", roles.judge)
    if roles.verifier.is_active or (roles.verifier.model and roles.verifier.goal != "off"):
        yield from _chain("verifier", roles.verifier)
    if roles.arbiter.model:
        yield from _chain("arbiter", roles.arbiter)
    for name, settings in sorted(roles.worker.variants.items()):
        if settings.engine == LOOP:
            yield from _chain(f"worker.variants.{name}", settings)
    for name, lens in roles.judge.active_lenses.items():
        if lens.get_own_settings().keys() & _WHERE:
            yield from _chain(f"judge.lenses.{name}", roles.judge.get_lens_settings(name))


def _chain(name: str, settings: ModelSettings) -> Iterator[tuple[str, ModelSettings]]:
    usual, *others = settings.list_fallback_chain()
    yield name, usual
    for place, other in enumerate(others):
        yield (f"{name}.fallbacks[{place}]", other)
