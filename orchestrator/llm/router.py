"""The one ModelClient of a process: it sends each call to what its model name stands for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from orchestrator.domain.budget.price import Price
from orchestrator.domain.chat import Reply, Request
from orchestrator.errors import UsageProblem
from orchestrator.llm.scripted_model.model import ScriptedModel, ScriptKey
from orchestrator.llm.scripted_model.script import SCRIPTED_PREFIX
from orchestrator.ports.model_client import ModelClient

if TYPE_CHECKING:
    from orchestrator.llm.litellm_adapter.client import LiteLLMClient


@dataclass(eq=False)
class ModelRouter:
    """`scripted:FILE` goes to one ScriptedModel per file, every other name to litellm.

    Use it as a context manager, or `aclose` it. Nothing is read or imported before a model is used.

    Args:
        base_dir: where relative script paths start.
        consumed: by model name as configured, how many scripted replies earlier processes of the run used.
        connect: makes the client for everything that is not scripted.
    """

    base_dir: Path
    consumed: Mapping[str, Mapping[ScriptKey, int]] = field(default_factory=dict)
    connect: "Callable[[], LiteLLMClient] | None" = None
    _scripted: dict[str, ScriptedModel] = field(default_factory=dict)
    _others: "LiteLLMClient | None" = None

    async def request_completion(self, request: Request) -> Reply:
        """Return one reply of the model that `request.model` names.

        Raises:
            ModelError: the try failed.
            UsageProblem: the script cannot be read or played.
        """
        return await self._client(request.model).request_completion(request)

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """Return what is wrong with the model's name, script or credentials; None when nothing is seen."""
        try:
            return await self._client(model).find_model_problem(model, api_base, api_key_env)
        except UsageProblem as problem:
            return str(problem)

    async def find_price(self, model: str) -> Price | None:
        """Return what a model charges, as far as that is known before a call.

        Raises:
            UsageProblem: the script cannot be read or played.
        """
        return await self._client(model).find_price(model)

    def get_scripted_model(self, model: str) -> ScriptedModel:
        """Return the player of `scripted:FILE`.

        Raises:
            UsageProblem: the script cannot be read or played.
        """
        if model not in self._scripted:
            path = self.base_dir / model.removeprefix(SCRIPTED_PREFIX)
            self._scripted[model] = ScriptedModel.from_file(path, self.consumed.get(model))
        return self._scripted[model]

    async def aclose(self) -> None:
        """Close what is open."""
        if self._others is not None:
            await self._others.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()

    def _client(self, model: str) -> ModelClient:
        if model.startswith(SCRIPTED_PREFIX):
            return self.get_scripted_model(model)
        if self._others is None:
            self._others = (self.connect or _build_client)()
        return self._others


def _build_client() -> "LiteLLMClient":
    from orchestrator.llm.litellm_adapter.client import LiteLLMClient  # scripted models do without it

    return LiteLLMClient()
