"""The runner of hooks: those that a moment calls for, one after the other, each recorded before and after."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from orchestrator.domain.agent_lookup import build_run_identity, find_session_identity
from orchestrator.domain.event.external import HookFinished, HookStarted
from orchestrator.domain.hooks import Hook, HookAnswer, HookPoint, HookScope, is_hook_applicable, parse_hook_answer
from orchestrator.domain.identity import AgentIdentity
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.traces.span_names import name_effect_span
from orchestrator.domain.traces.trace_ids import format_traceparent, is_trace_sampled
from orchestrator.errors import JournalProblem, OrchestrateError, PersonNeeded
from orchestrator.hands.execution.lost_hosts import repeat_on_lost_host
from orchestrator.hooks.host_command import HookCommandResult, run_in_sandbox, run_on_host
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import Hands
from orchestrator.ports.hooks import HookOccurrence
from orchestrator.ports.ledger import Ledger
from worktrees.diffs.file_diffs import diff_trees
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.safety.path_rules import escape_path

INPUT_SCHEMA = 1
"""Of the object that hooks read; `docs/hooks.md` has it. Raised when a key changes its meaning or goes."""


def build_effect_name(point: HookPoint, moment: str, number: int) -> str:
    """Return the name of the effect that a hook is, by which is known whether it was begun before."""
    return f"hook/{point}/{moment}/{number}"


@dataclass(frozen=True)
class _Due:
    """A hook that is to run: its place in the configuration, where, and the effect's name."""

    number: int
    hook: Hook
    point: HookPoint
    name: str


class HookRunner:
    """A `ports.Hooks` on the configured commands. `root` is where trusted ones stand: the user's repository.

    `trace_sample` is the share of runs whose spans are sent; None where hooks are told of no trace.
    """

    def __init__(
        self,
        hooks: Sequence[Hook],
        ledger: Ledger,
        hands: Hands,
        git: Git,
        root: Path,
        trace_sample: float | None = None,
    ) -> None:
        self._hooks = tuple(enumerate(hooks, start=1))
        self._ledger = ledger
        self._hands = hands
        self._git = git
        self._root = root
        self._trace_sample = trace_sample

    def has_hooks_for(self, scope: HookScope) -> bool:
        """Return True if a hook is configured for such moments."""
        return any(point in hook.on for _, hook in self._hooks for point in (f"before_{scope}", f"after_{scope}"))

    async def find_veto(self, moment: HookOccurrence) -> str | None:
        """Return the first veto; hooks after it are not asked."""
        due, paths = await self._due("before", moment)
        for one in due:
            answer = await self._run(one, moment, paths)
            who = f"hook {one.number} (`{one.hook.run}`)"
            if answer.decision == "stop":
                raise PersonNeeded(f"{who} stops the run at {one.point}: {answer.reason}; resume when that is settled")
            if answer.decision == "veto":
                return f"{who}: {answer.reason}"
        return None

    async def notify_after(self, moment: HookOccurrence) -> None:
        """Tell every hook that has not been told, here or by a process that died."""
        due, paths = await self._due("after", moment)
        for one in due:
            if self._ledger.state.effect_tries[one.name]:
                continue
            try:
                await self._run(one, moment, paths)
            except JournalProblem:
                raise
            except (OrchestrateError, GitError):
                continue  # what could not be done is in the journal as abandoned

    async def _due(self, when: str, moment: HookOccurrence) -> tuple[list[_Due], tuple[str, ...]]:
        point = cast(HookPoint, f"{when}_{moment.scope}")
        asked = [(number, hook) for number, hook in self._hooks if point in hook.on]
        if not asked:
            return [], ()
        paths = moment.paths
        if moment.span is not None:
            paths = tuple(map(escape_path, (await diff_trees(self._git, *moment.span)).paths))
        due = []
        for number, hook in asked:
            if is_hook_applicable(hook, point, moment.tasks, moment.tool, paths):
                due.append(_Due(number, hook, point, build_effect_name(point, moment.name, number)))
        return due, paths

    async def _run(self, due: _Due, moment: HookOccurrence, paths: tuple[str, ...]) -> HookAnswer:
        ledger, hook = self._ledger, due.hook
        key = ledger.build_next_key(due.name)
        text = ledger.redact_text(json.dumps(self._build_input(due, key, moment, paths), ensure_ascii=False))
        started = HookStarted(
            key=key,
            task=moment.tasks[0] if len(moment.tasks) == 1 else None,
            point=due.point,
            hook=due.number,
            command=hook.run,
            is_trusted=hook.trusted,
            input=await ledger.store_text(text),
        )
        async with record_effect(ledger, started) as running:
            ran = await self._run_hook(hook, text, moment, key)
            answer = parse_hook_answer(hook, due.point, ran.exit_code, ran.problem, ran.stdout, ran.stderr)
            running.done = HookFinished(
                key=key,
                task=started.task,
                point=due.point,
                hook=due.number,
                decision=answer.decision,
                reason=answer.reason,
                exit_code=ran.exit_code,
                stdout=await ledger.store_text(ran.stdout),
                stderr=await ledger.store_text(ran.stderr),
                seconds=ran.seconds,
            )
        return answer

    def _build_input(self, due: _Due, key: str, moment: HookOccurrence, paths: tuple[str, ...]) -> dict[str, Any]:
        run = self._ledger.state.run
        return {
            "schema": INPUT_SCHEMA,
            "point": due.point,
            "key": key,
            "run": {
                "id": run.run,
                "mode": run.mode,
                "goal": run.goal,
                "repository": run.repository,
                "base": run.base,
                "branch": run.branch,
                "target": run.target,
                "head": self._ledger.state.head,
            },
            "tasks": list(moment.tasks),
            "paths": list(paths),
            "identity": self._find_identity(moment).model_dump(mode="json"),
            **moment.facts,
        }

    def _build_trace_context(self, key: str) -> dict[str, str]:
        """Return the variable by which a hook's own spans stand within that of its run."""
        if self._trace_sample is None:
            return {}
        run = self._ledger.state.run.run
        is_sampled = is_trace_sampled(run, self._trace_sample)
        return {"TRACEPARENT": format_traceparent(run, name_effect_span(key), is_sampled=is_sampled)}

    def _find_identity(self, moment: HookOccurrence) -> AgentIdentity:
        """Return the agent that a moment is about, else the run."""
        state = self._ledger.state
        if moment.session is not None:
            return find_session_identity(state, moment.session)
        return moment.identity or build_run_identity(state)

    async def _run_hook(self, hook: Hook, text: str, moment: HookOccurrence, key: str) -> HookCommandResult:
        variables = {**self._find_identity(moment).build_environment(), **self._build_trace_context(key)}
        if hook.trusted:
            return await run_on_host(hook.run, text, self._root, hook.timeout_s, variables)
        if moment.view is not None and not isinstance(moment.view, str):
            return await run_in_sandbox(hook.run, text, moment.view, hook.timeout_s, variables)
        return await repeat_on_lost_host(partial(self._run_in_view, hook, text, moment, variables))

    async def _run_in_view(
        self, hook: Hook, text: str, moment: HookOccurrence, variables: Mapping[str, str]
    ) -> HookCommandResult:
        """Run a hook on a workspace of its own at the commit that a moment is about."""
        state = self._ledger.state
        commit = moment.view if isinstance(moment.view, str) else state.head or state.run.base
        workspace = await self._hands.open_workspace(commit, Purpose(f"hook {moment.name}"))
        try:
            return await run_in_sandbox(hook.run, text, workspace, hook.timeout_s, variables)
        finally:
            await workspace.close()
