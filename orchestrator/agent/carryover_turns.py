"""The turns in which a conversation that fills its context is carried over into a fresh one.

The model is asked at the end of the same conversation, with one tool on offer, and no hook may refuse it. Offering that
tool alone costs the cached prefix of one request; offering it from the beginning would lengthen every request, change
what every recorded one looks like, and leave a model the choice. What it reports is recorded together with the end of
its turn, so that a session which was cut off goes on with the same words. If it reports nothing, the harness lists what
it saw: no attempt is lost for want of words.
"""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.agent.carryover_report import (
    CARRY_OVER,
    CarryoverReport,
    build_carryover_tool,
    estimate_most_tokens,
    summarize_turns,
    write_carryover,
)
from orchestrator.agent.elision import CARRY_OVER_SHARE
from orchestrator.agent.history import Carryover, SessionHistory
from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tool_execution import SessionHooks, ToolExecutor
from orchestrator.agent.turn import Turn
from orchestrator.agent.words import repeat_words
from orchestrator.domain.chat import Message
from orchestrator.domain.event.work import ContextFilled, ConversationCarriedOver, TurnEnded
from orchestrator.domain.ids import TreeId
from orchestrator.domain.run.task import Exit
from orchestrator.ports.hooks import NO_HOOKS
from orchestrator.ports.ledger import Ledger

MOST_ASKS = 2
"""A model is asked so often for one carryover."""
LARGEST_BEGINNING_SHARE = 0.7
"""Share of what tools leave of the context that instructions, briefs and a carryover may fill.

With more, the next carryover would be near. `agent.brief_room` keeps briefs so short that one fits in beside them."""
_ONLY_THIS = f"That is no carryover. Answer with one call of `{CARRY_OVER}` and nothing else; this is the last request."


class CarryoverTurns:
    """Carrying over one session. `spec` is the session with the only tool that is there in these turns."""

    def __init__(self, spec: SessionSpec, ledger: Ledger, conversation: SessionHistory) -> None:
        prompt = spec.prompts.load_prompt("session-carryover")
        self.spec = replace(spec, tools=index_tools(build_carryover_tool()), prompt=prompt.sha)
        self._words = prompt.render_text()
        self._ledger = ledger
        self._conversation = conversation
        self._window = spec.context_tokens
        hooks = SessionHooks(self.spec, NO_HOOKS)
        self._executor = ToolExecutor(self.spec, ledger, hooks, conversation, heeds_words=False)

    async def make_room(self) -> tuple[Exit, str] | None:
        """Ask for a carryover once the conversation fills too much, and do without one where that cannot be asked.

        Returns:
            how the session ends if no carryover can help it, or None.
        """
        used = self._measure_next_request()
        if self._conversation.pending_ask is None:
            if used <= self._window * CARRY_OVER_SHARE:
                return None
            if obstacle := self._find_obstacle():
                return (
                    Exit.OUT_OF_CONTEXT,
                    f"the conversation fills {used:.0f} tokens of the model's context; {obstacle}",
                )
            await self._ask(used)
            used = self._measure_next_request()
        if used > self._window or self._count_asks() >= MOST_ASKS:
            await self._carry_over(None)
        return None

    async def use_reply(self, turn: Turn) -> CarryoverReport | None:
        """Return the report that a reply holds, or None."""
        report = await self._executor.run_tools(len(self._conversation.turns), turn)
        return report if isinstance(report, CarryoverReport) else None

    async def close_turn(
        self, turn: Turn, report: CarryoverReport | None, tree: TreeId | None, notice: str, *, is_refused: bool
    ) -> None:
        """Record a turn that answered, and the carryover if this was the last one that is waited for.

        Args:
            turn: the reply.
            report: what it holds.
            tree: the workspace's content.
            notice: what else is to be said to the model now.
            is_refused: the request was refused, so that there is no reply and another try would bring none.
        """
        number = len(self._conversation.turns)
        self._conversation.turns.append(turn)
        is_over = report is not None or is_refused or self._count_asks() >= MOST_ASKS
        turn.nudge = "" if is_over else "\n".join(filter(None, (_ONLY_THIS, notice)))
        spec = self.spec
        ended = TurnEnded(task=spec.task, session=spec.id, turn=number, tree=tree, nudge=turn.nudge)
        if is_over:
            await self._carry_over(report, notice, ended)
        else:
            await self._ledger.append(ended)

    def _measure_next_request(self) -> float:
        return self._count_tokens(self._conversation.build_messages(self._window, self.spec.reasoning_rule))

    def _count_tokens(self, messages: Sequence[Message]) -> float:
        return self._conversation.count_tokens(messages, self._window, self.spec.reasoning_rule)

    def _count_asks(self) -> int:
        return len(self._conversation.turns) - (self._conversation.pending_ask or 0)

    def _find_obstacle(self) -> str:
        """Return why a fresh context would be no better; empty if it would."""
        beginning = self._conversation.list_beginning(self._window)
        tokens = self._count_tokens(beginning) + estimate_most_tokens(self._window)
        tools = self._conversation.count_tool_tokens(self._window, self.spec.reasoning_rule)
        is_too_large = tokens - tools > (self._window - tools) * LARGEST_BEGINNING_SHARE
        if is_too_large or not self._conversation.list_carried_turns(self._window):
            return (
                f"a fresh one would begin with {tokens:.0f} of {self._window} tokens: make the task or its goal "
                "shorter, or give the role a model with a larger `context_tokens`"
            )
        return ""

    async def _ask(self, used: float) -> None:
        words, number = self._ledger.redact_text(self._words), len(self._conversation.turns)
        filled = ContextFilled(
            task=self.spec.task,
            session=self.spec.id,
            turn=number,
            words=await self._ledger.store_text(words),
            tokens=round(used),
            context_tokens=self._window,
        )
        await self._ledger.append(filled)
        self._conversation.asks[number] = Message(role="user", text=words)

    async def _carry_over(self, report: CarryoverReport | None, notice: str = "", *ended: TurnEnded) -> None:
        text = report.text if report else self._summarize()
        words = write_carryover(self.spec.prompts, text, self._window, is_by_harness=report is None)
        said = repeat_words(self.spec, self._ledger)
        words = self._ledger.redact_text("\n\n".join(filter(None, (words, said, notice))))
        carried = ConversationCarriedOver(
            task=self.spec.task,
            session=self.spec.id,
            turn=len(self._conversation.turns),
            words=await self._ledger.store_text(words),
            by_harness=report is None,
        )
        await self._ledger.append(*ended, carried)
        self._conversation.carryovers.append(Carryover(carried.turn, words))

    def _summarize(self) -> str:
        turns = self._conversation.list_carried_turns(self._window)
        return summarize_turns(turns, self._conversation.find_latest_carryover())
