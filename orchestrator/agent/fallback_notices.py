"""Telling a person, once, when another model answers in place of the usual one."""

from orchestrator.domain.chat import Request
from orchestrator.domain.event.run import Noticed
from orchestrator.errors import OrchestrateError
from orchestrator.ports.ledger import Ledger

MAX_NOTICE_CHARS = 300


class FallbackNotices:
    """Remembers which model answers in whose place, and tells a person when that changes."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._answering: dict[tuple[str, str, str | None], tuple[str, str | None]] = {}

    async def record_answer(self, usual: Request, answering: Request, why: OrchestrateError | None) -> None:
        """Note who answered in the place of the usual model; `why` the model before it could not be asked."""
        name, now = (usual.role, *_model(usual)), _model(answering)
        if now == self._answering.get(name, _model(usual)):
            return
        self._answering[name] = now
        if now == _model(usual):
            notice = Noticed(level="info", text=f"{usual.model} answers the {usual.role} again", task=usual.task)
        else:
            text = f"{answering.model} answers the {usual.role} in place of {usual.model}: {why}"
            notice = Noticed(level="warning", text=self._ledger.redact_text(text)[:MAX_NOTICE_CHARS], task=usual.task)
        await self._ledger.append(notice)


def _model(request: Request) -> tuple[str, str | None]:
    return request.model, request.api_base
