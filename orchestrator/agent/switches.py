"""Telling a person, once, when another model answers in place of the usual one."""

from orchestrator.domain.chat import Request
from orchestrator.domain.event.run import Noticed
from orchestrator.errors import OrchestrateError
from orchestrator.ports.ledger import Ledger

SAID_CHARS = 300


class Switches:
    """Which model answers in whose place, as far as it was told."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._asked: dict[tuple[str, str, str | None], tuple[str, str | None]] = {}

    async def about_to_ask(self, usual: Request, chosen: Request, why: OrchestrateError | None) -> None:
        """Note whom a role is about to ask; `why` the one before could not be."""
        name, now = (usual.role, *_model(usual)), _model(chosen)
        before = self._asked.get(name, _model(usual))
        self._asked[name] = now
        if now == before:
            return
        if now == _model(usual):
            level, text = "info", f"the {usual.role} asks {usual.model} again"
        else:
            level, text = "warning", f"the {usual.role} asks {chosen.model} instead of {usual.model}: {why}"
        await self._ledger.append(
            Noticed.model_validate({"task": usual.task, "level": level, "text": text[:SAID_CHARS]})
        )


def _model(request: Request) -> tuple[str, str | None]:
    return request.model, request.api_base
