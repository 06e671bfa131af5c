"""Asking one role again, call by call, in the contexts that were recorded, and holding the answers side by side."""

from collections.abc import Callable
from dataclasses import dataclass, field

from orchestrator.config.roles import ModelSettings
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reply, Request, Role
from orchestrator.domain.run.state import RunState
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.errors import ContextOverflow, ModelError, RequestRefused
from orchestrator.llm.recorded_model import CallPosition
from orchestrator.llm.retry import RetryPolicy, complete_with_retries
from orchestrator.ports.model_client import ModelClient
from orchestrator.replay.comparison.diffs import describe_decision, find_decision_difference
from orchestrator.replay.comparison.report_model import CallDifference, ComparedCall
from orchestrator.replay.recording import RecordedCall


@dataclass
class RoleReasker:
    """Asks `client` again what a role was asked. The run itself goes on with the recorded replies.

    Only `wanted` calls are asked again, all of the role's where that is None. `replies` are the new ones.
    """

    role: Role
    client: ModelClient
    settings: Callable[[Request], ModelSettings]
    policy: RetryPolicy
    budget: RunBudget
    wanted: frozenset[CallPosition] | None = None
    results: list[ComparedCall] = field(default_factory=list)
    replies: dict[CallPosition, Reply] = field(default_factory=dict)
    _own: RunState = field(default_factory=RunState)

    @property
    def spent(self) -> Usage:
        """The cost of asking again."""
        return self._own.spend.total

    async def repeat_call(self, request: Request, then: tuple[Message, ...], call: RecordedCall) -> None:
        """Ask again, if the request is the role's; every message that did not change stands as it was recorded.

        Raises:
            LimitReached: the budget does not allow another call.
            ModelError: no model can be asked: its name, its key or its quota is wrong.
            ProviderDown: it did not answer within the policy's bounds.
        """
        position: CallPosition = (request.session, request.turn)
        if request.role != self.role or call.answer.reply is None:
            return
        if self.wanted is not None and position not in self.wanted:
            return
        again = self._build_request(request, then)
        await self.budget.reserve_call(self._own, again, await self.client.find_price(again.model))
        try:
            reply = await complete_with_retries(self.client, again, self.policy, _ignore_failure)
        except (ContextOverflow, RequestRefused) as error:
            self._record_result(request, call, call.answer.reply, None, str(error))
            return
        finally:
            self.budget.settle_call()
        self._own.spend.total += reply.usage
        self.replies[position] = reply
        self._record_result(request, call, call.answer.reply, reply)

    def _build_request(self, request: Request, then: tuple[Message, ...]) -> Request:
        now = request.messages
        merged = (*map(_choose_recorded, then, now), *now[len(then) :])
        return request.model_copy(update=self.settings(request).build_request_fields() | {"messages": merged})

    def _record_result(
        self, request: Request, call: RecordedCall, then: Reply, now: Reply | None, error: str = ""
    ) -> None:
        recorded, new, difference = describe_decision(then), None, None
        if now is not None:
            new = describe_decision(now)
            if parting := find_decision_difference(then, now):
                difference = CallDifference(at=parting[0], recorded=parting[1], new=parting[2])
        compared = ComparedCall(
            **request.model_dump(include={"session", "turn", "task"}),
            seq=call.seq,
            model=self.settings(request).model,
            recorded=recorded,
            new=new,
            error=error,
            same=recorded == new,
            first_difference=difference,
        )
        self.results.append(compared)


def _choose_recorded(then: Message, now: Message) -> Message:
    if then.normalize_words() == now.normalize_words():
        return then
    return now


async def _ignore_failure(_error: ModelError, _try_no: int, _retry_in_s: float | None) -> None:
    """Ignore a failed try: the last one is reported, as the error that ends them."""
