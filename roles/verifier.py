"""The verifier: reads a task and the base, writes tests that the result has to pass, and never sees the result."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools import files
from orchestrator.agent.tools.base import AnyTool, ToolArguments
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.domain.ids import (
    GOAL_VERIFIER_SESSION,
    ROOT_TASK,
    SessionId,
    TaskId,
    build_verifier_session_id,
)
from orchestrator.domain.judging.verifier_tests import BaseOutcome, VerifierFileKind
from orchestrator.domain.text.listing import join_limited
from orchestrator.ports.hands import Workspace
from orchestrator.ports.roles import (
    GoalBrief,
    ProposedCheck,
    ProposedChecks,
    ProposedFile,
    ProposedTests,
    SessionFailure,
    TryChecks,
    TryTests,
    VerifierBrief,
)
from prompts import fence_text
from roles.brief_text import format_bullets, format_contract
from roles.role_context import RoleContext

_OUTCOME_WORDS: Mapping[str, BaseOutcome] = {
    **dict.fromkeys(("red", "fail", "fails", "failing", "failed", "new"), BaseOutcome.NEW_BEHAVIOUR),
    **dict.fromkeys(("new-behavior", "new_behaviour", "new_behavior"), BaseOutcome.NEW_BEHAVIOUR),
    **dict.fromkeys(("green", "pass", "passes", "passing", "passed"), BaseOutcome.CHARACTERISATION),
    **dict.fromkeys(("characterization", "regression"), BaseOutcome.CHARACTERISATION),
}
"""Other words of models for how tests end on the base."""
_MAX_SHOWN = 60
_GOAL_TRIALS = 3
"""Submissions of checks of a goal that are sent back where one cannot be run, the last one excepted."""


class TestFileAnswer(ToolArguments):
    """One file of tests."""

    __test__ = False  # pytest would take it for a test class

    path: str = Field(description="A new file where the project's runner finds tests, relative to the repository.")
    text: str = Field(description="The whole content.")
    base: BaseOutcome = Field(
        BaseOutcome.NEW_BEHAVIOUR,
        description="new-behaviour: at least one of its tests fails before the task is done. "
        "characterisation: all pass before, and have to go on passing.",
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_other_names(cls, data: object) -> object:
        return _rename_first(data, {"text": ("code", "source", "body"), "base": ("expected", "expectation", "told")})

    @field_validator("base", mode="before")
    @classmethod
    def _accept_other_words(cls, outcome: object) -> object:
        return _translate_outcome(outcome)


class ScriptAnswer(ToolArguments):
    """One script."""

    name: str = Field(description="A plain name that ends in .sh.")
    text: str = Field(description="The whole script; sh -e runs it from the top of a checkout.")
    base: BaseOutcome = Field(
        BaseOutcome.NEW_BEHAVIOUR,
        description="new-behaviour: it exits other than 0 before the task is done. characterisation: it exits 0.",
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_other_names(cls, data: object) -> object:
        other_names = {"name": ("path", "title"), "text": ("script", "command", "code", "run")}
        return _rename_first(data, other_names | {"base": ("expected", "expectation")})

    @field_validator("base", mode="before")
    @classmethod
    def _accept_other_words(cls, outcome: object) -> object:
        return _translate_outcome(outcome)


class VerifierAnswer(ToolArguments):
    """A verifier's answer."""

    files: tuple[TestFileAnswer, ...] = Field((), description="The files; none if the task cannot be tested.")
    scripts: tuple[ScriptAnswer, ...] = Field((), description="Scripts that use the result as its users will.")
    summary: str = Field("", description="Which point each test shows, or why there is none.")

    @model_validator(mode="before")
    @classmethod
    def _accept_other_names(cls, data: object) -> object:
        other_names = {"files": ("tests", "test_files"), "scripts": ("commands", "usage")}
        renamed = _rename_first(data, other_names | {"summary": ("why", "rationale", "notes")})
        for name in ("files", "scripts"):
            if isinstance(renamed, dict) and isinstance(renamed.get(name), dict):
                renamed |= {name: [renamed[name]]}
        return renamed

    def build_files(self) -> tuple[ProposedFile, ...]:
        """Return files and scripts as the harness tries them; a path is taken from the repository's top."""
        proposed = []
        for file in self.files:
            proposed.append(ProposedFile(path=file.path.removeprefix("./"), text=file.text, base_outcome=file.base))
        for script in self.scripts:
            kind, name = VerifierFileKind.SCRIPT, script.name.removeprefix("./")
            proposed.append(ProposedFile(path=name, text=script.text, base_outcome=script.base, kind=kind))
        return tuple(proposed)


class GoalCheckAnswer(ToolArguments):
    """One check of the goal."""

    text: str = Field(description="What has to hold, in a sentence.")
    command: str = Field("", description="A command that exits 0 if it holds; empty where a file of tests shows it.")
    path: str = Field("", description="Instead of a command: a new file where the project's runner finds tests.")
    test: str = Field("", description="The whole content of that file.")

    @model_validator(mode="before")
    @classmethod
    def _accept_other_names(cls, data: object) -> object:
        return _rename_first(data, {"test": ("code", "source", "body"), "text": ("description", "title", "criterion")})


class GoalChecksAnswer(ToolArguments):
    """A verifier's checks of a goal."""

    checks: tuple[GoalCheckAnswer, ...] = Field((), description="The checks; none if nothing can be checked so.")

    def build_checks(self) -> tuple[ProposedCheck, ...]:
        """Return the checks as the harness tries them."""
        proposed = []
        for check in self.checks:
            proposed.append(ProposedCheck(**check.model_dump() | {"path": check.path.removeprefix("./")}))
        return tuple(proposed)


def _translate_outcome(outcome: object) -> object:
    """Return the term for a model's own word of how something ends on the base."""
    if isinstance(outcome, str):
        word = outcome.strip().lower()
        return _OUTCOME_WORDS.get(word, word)
    return outcome


def _rename_first(data: object, names: Mapping[str, tuple[str, ...]]) -> Any:  # noqa: ANN401  any JSON
    """Return arguments with the usual other names of those that are left out taken for them."""
    if not isinstance(data, dict):
        return data
    renamed = dict(data)
    for name, others in names.items():
        used = [other for other in others if other in renamed]
        if used and name not in renamed:
            renamed[name] = renamed.pop(used[0])
    return renamed


class ModelVerifier:
    """A `ports.Verifier` that asks the model configured under [roles.verifier]."""

    def __init__(self, around: RoleContext) -> None:
        self._around = around

    async def write_tests(
        self, brief: VerifierBrief, workspace: Workspace, try_tests: TryTests
    ) -> ProposedTests | SessionFailure:
        """Return the tests that it ends with; it reads the base, and each submission was tried with `try_tests`."""

        async def find_problems(answer: VerifierAnswer) -> tuple[str, ...]:
            return tuple(await try_tests(answer.build_files()))

        prompt = self._around.prompts.load_prompt("verifier")
        tool = build_submit_tool("submit_tests", "Submit your tests.", VerifierAnswer, find_problems)
        session = build_verifier_session_id(brief.task.id)
        system = prompt.render_text(max_files=str(brief.max_files), max_scripts=str(brief.max_scripts))
        brief_text = self._render_brief(brief)
        spec = self._build_spec(session, brief.task.id, workspace, prompt.sha, system, brief_text, tool)
        answer = await self._around.hold_session(spec, VerifierAnswer)
        if isinstance(answer, SessionFailure):
            return answer
        return ProposedTests(files=answer.build_files(), summary=answer.summary)

    async def propose_checks(
        self, brief: GoalBrief, workspace: Workspace, try_checks: TryChecks
    ) -> ProposedChecks | SessionFailure:
        """Return checks of a goal; each submission was tried with `try_checks`, and the last one is taken."""
        trials = 0

        async def find_problems(answer: GoalChecksAnswer) -> tuple[str, ...]:
            nonlocal trials
            trials += 1
            problems = tuple(await try_checks(answer.build_checks()))
            return problems if trials < _GOAL_TRIALS else ()

        prompt = self._around.prompts.load_prompt("verifier-goal")
        brief_text = self._around.prompts.load_prompt("verifier-goal-brief").render_text(
            goal=brief.goal, contract=format_contract(brief.contract), gate=brief.gate
        )
        tool = build_submit_tool("submit_checks", "Submit your checks.", GoalChecksAnswer, find_problems)
        system = prompt.render_text(max_checks=str(brief.max_checks))
        spec = self._build_spec(GOAL_VERIFIER_SESSION, ROOT_TASK, workspace, prompt.sha, system, brief_text, tool)
        answer = await self._around.hold_session(spec, GoalChecksAnswer)
        if isinstance(answer, SessionFailure):
            return answer
        return ProposedChecks(checks=answer.build_checks())

    def _build_spec(
        self,
        session: SessionId,
        task: TaskId,
        workspace: Workspace,
        prompt: str,
        system: str,
        brief: str,
        submit: AnyTool,
    ) -> SessionSpec:
        """Return a conversation that can read the repository, and ends with `submit`."""
        return SessionSpec(
            id=session,
            role="verifier",
            task=task,
            settings=self._around.config.roles.verifier,
            prompt=prompt,
            system=system,
            brief=brief,
            tools=index_tools(
                files.build_list_tool(workspace),
                files.build_search_tool(workspace),
                files.build_read_tool(workspace),
                submit,
            ),
            workspace=workspace,
        )

    def _render_brief(self, brief: VerifierBrief) -> str:
        task = brief.task
        examples = "\n\n".join(f"{piece.title}\n{fence_text(piece.label, piece.text)}" for piece in brief.examples)
        return self._around.prompts.load_prompt("verifier-brief").render_text(
            task=task.id,
            title=task.title,
            outcome=task.outcome,
            acceptance=format_bullets(task.acceptance, "- the outcome holds"),
            non_goals="; ".join(task.non_goals) or "everything the outcome does not need",
            gate=brief.gate,
            tests=join_limited(brief.test_paths, _MAX_SHOWN) or "none so far",
            examples=examples or "The project has no test that could be shown.",
        )
