"""Asking a model."""

from typing import Protocol

from orchestrator.domain.budget.price import Price
from orchestrator.domain.chat import Reply, Request


class ModelClient(Protocol):
    """One way to reach models. Implementations make one try; retries are the caller's."""

    async def request_completion(self, request: Request) -> Reply:
        """Return one reply.

        Raises:
            orchestrator.llm.errors.ModelError: the try failed; its class says what to do about it.
        """

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """Return what is wrong with this model's name or credentials, without a call; None when nothing is seen."""

    async def find_price(self, model: str) -> Price | None:
        """Return what this model charges, as far as that is known before a call; None when it is not. Makes no call."""
