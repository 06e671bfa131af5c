"""The policy of a live run: read from its files, taken up when it changes, and asked about in the inbox."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.config.model import ApprovalSettings
from orchestrator.config.policy_file import (
    PROJECT_POLICY_FILE,
    WatchedPolicyFile,
    hash_policy,
    parse_rule_set,
    read_policy_text,
)
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.policy import PolicyLoaded
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import TaskId, build_approval_item, build_policy_subject
from orchestrator.domain.policy.decision import PolicyDecision, decide_policy, may_refuse
from orchestrator.domain.policy.questions import PolicyQuestion, digest_question
from orchestrator.domain.policy.rules import (
    STRICTNESS,
    HostRules,
    PolicyActor,
    PolicySubject,
    RuleSet,
    is_empty_policy,
)
from orchestrator.domain.run.approval import Approval, ApprovalState
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.engine.control.approvals import set_expiry
from orchestrator.errors import UsageProblem
from orchestrator.journal.journal import Journal
from orchestrator.ports.ledger import record_notice_once

_DENIED = "The policy denies {subject} to a {role} ({rule}). Do without it."
_REFUSED = "A person refused {subject}: {reason}. Do without it."
_ASKED = (
    "The policy asks a person about {subject} ({rule}). Asked as {item}: it is not allowed yet, and may never be. "
    "Go on with what you can do without it; if nothing is left to do, end and say what remains: the task is taken up "
    "again when there is an answer."
)
_TOO_MANY = (
    "The policy asks a person about {subject} ({rule}), and too many questions about this task wait already. Go on "
    "without it, or end and say what remains."
)
_NAME_CHARS = 200
_MAX_OPEN_QUESTIONS = 10
_DIGEST_CHARS = 12


class RunPolicyGuard:
    """A `ports.PolicyGuard` on the files of a run; in a replay, on what the journal says that they held then."""

    def __init__(
        self,
        journal: Journal,
        watched: WatchedPolicyFile | None,
        project_text: str,
        settings: Callable[[], ApprovalSettings],
        *,
        is_named: bool,
    ) -> None:
        """Prepare a guard; `open_rules` has to follow.

        Args:
            journal: the run's.
            watched: the user's file; None to go by the events of the journal alone.
            project_text: the project's file at the run's base; empty where it has none.
            settings: how long questions wait, and what counts then.
            is_named: the user's file is named in the configuration, so it has to exist.
        """
        self._journal = journal
        self._watched = watched
        self._project_text = project_text
        self._settings = settings
        self._is_named = is_named
        self._rule_sets: tuple[RuleSet, ...] = ()
        self._lock = anyio.Lock()
        self.hash = ""
        self.asks_before_landing = True

    @property
    def rule_sets(self) -> Sequence[RuleSet]:
        """The files that decide now, the user's first."""
        return self._rule_sets

    async def open_rules(self) -> None:
        """Read the files; go on by what the journal has where the user's file is gone or cannot be read.

        Raises:
            UsageProblem: a file cannot be read, and the journal has no rules to go on by.
        """
        if self._watched is None:
            await self._follow_record()
            return
        self._watched.note_state()
        if not self._watched.has_file() and not self._has_user_record():
            if self._is_named:
                raise UsageProblem(
                    f"the policy file {self._watched.path} does not exist: make it, or empty [policy] file"
                )
            await self._use_text("", self._watched.path)
            return
        try:
            await self._read_file(self._watched)
        except UsageProblem as problem:
            if not self._has_user_record():
                raise
            await self._follow_record()
            await self._tell_of_problem(problem)

    async def take_changes(self) -> None:
        """Take up the user's file if it has changed; one that cannot be read leaves the rules as they are."""
        watched = self._watched
        if watched is None:
            await self._follow_record()
            return
        if not watched.has_changed():
            return
        async with self._lock:
            if not watched.has_changed():
                return
            watched.note_state()
            try:
                await self._read_file(watched)
            except UsageProblem as problem:
                await self._tell_of_problem(problem)

    def decide_subject(self, actor: PolicyActor, subject: PolicySubject) -> PolicyDecision:
        """Return what the files say of a subject, as they were last taken up."""
        return decide_policy(self._rule_sets, actor, subject)

    async def find_refusal(self, actor: PolicyActor, task: TaskId, subjects: Sequence[PolicySubject]) -> str | None:
        """Return why something may not be done now, in words for a model; None if it may."""
        await self.take_changes()
        found = []
        for subject in subjects:
            decision = self.decide_subject(actor, subject)
            if not decision.is_allowed:
                found.append((subject, decision))
        found.sort(key=lambda one: -STRICTNESS[one[1].effect])
        for subject, decision in found:
            if decision.effect == "deny":
                return _DENIED.format(subject=_name_subject(subject), role=actor.role, rule=decision.rule_text)
            if refusal := await self.ask_person(actor, task, PolicyQuestion(subject=subject, decision=decision)):
                return refusal
        return None

    async def ask_person(self, actor: PolicyActor, task: TaskId, question: PolicyQuestion) -> str | None:
        """Return why something that is to be asked about may not be done yet; None once a person has allowed it."""
        name, rule = _name_subject(question.subject), question.decision.rule_text
        topic = build_policy_subject(task, digest_question(actor, question.subject, question.about))
        item = build_approval_item("policy", topic)
        answer = self._journal.state.approvals.get(item)
        if answer is None:
            if self._count_open_questions(task) >= _MAX_OPEN_QUESTIONS:
                return _TOO_MANY.format(subject=name, rule=rule)
            await self._put_question(item, topic, actor, task, question)
        elif answer.decision == "approve":
            return None
        elif answer.decision is not None:
            return _REFUSED.format(subject=name, reason=_find_reason(answer))
        return _ASKED.format(subject=name, rule=rule, item=item)

    def build_host_rules(self, actor: PolicyActor) -> HostRules | None:
        """Return the rules on hosts that an actor's commands carry; None where no file has any."""
        if not may_refuse(self._rule_sets, "host"):
            return None
        return HostRules(actor=actor, rule_sets=self._rule_sets)

    async def _put_question(
        self, item: str, topic: str, actor: PolicyActor, task: TaskId, question: PolicyQuestion
    ) -> None:
        approval = Approval(
            item=item,
            matter="policy",
            subject=topic,
            title=f"let the {actor.role} of {task} do this: {_name_subject(question.subject)}",
            detail=(f"the policy asks about it: {question.decision.rule_text}", *question.detail),
        )
        approval = set_expiry(approval, self._settings(), self._journal.read_clock())
        await self._journal.append(ApprovalRequested(approval=approval))

    def _count_open_questions(self, task: TaskId) -> int:
        """Return how many questions about a task wait: what an agent makes up must not fill the inbox."""
        return sum(question.is_open for question in self._journal.state.list_task_requests(task))

    def _has_user_record(self) -> bool:
        record = self._journal.state.policy
        return record is not None and record.text.size > 0

    async def _read_file(self, watched: WatchedPolicyFile) -> None:
        await self._use_text(await to_thread.run_sync(read_policy_text, watched.path), watched.path)

    async def _use_text(self, text: str, path: Path) -> None:
        """Decide by a text of the user's file from now on, and record it if the journal does not have it."""
        self._rule_sets = self._parse_texts(text, str(path))
        has_rules = bool(text or self._project_text)
        self.hash = hash_policy((text, self._project_text)) * has_rules
        record = self._journal.state.policy
        if self.hash == (record.policy if record else ""):
            return
        loaded = PolicyLoaded(
            policy=self.hash,
            path=str(path),
            text=await self._journal.store_text(text),
            project=await self._journal.store_text(self._project_text),
        )
        await self._journal.append(loaded)

    async def _follow_record(self) -> None:
        """Decide by the user's rules that the journal has."""
        record = self._journal.state.policy
        if record is None or record.policy == self.hash:
            return
        self._rule_sets = self._parse_texts(await self._journal.read_text(record.text), record.path)
        self.hash = record.policy

    def _parse_texts(self, text: str, file: str) -> tuple[RuleSet, ...]:
        rule_sets = (
            parse_rule_set(text, "user", file),
            parse_rule_set(self._project_text, "project", PROJECT_POLICY_FILE),
        )
        return () if is_empty_policy(rule_sets) else rule_sets

    async def _tell_of_problem(self, problem: UsageProblem) -> None:
        text = f"the rules before it go on to decide, as the policy file cannot be used: {problem}"
        subject = hashlib.sha256(str(problem).encode()).hexdigest()[:_DIGEST_CHARS]
        code = NoticeCode.POLICY_UNREADABLE
        await record_notice_once(self._journal, Noticed(level="warning", text=text, code=code, subject=subject))


def _name_subject(subject: PolicySubject) -> str:
    return to_one_line(str(subject), _NAME_CHARS)


def _find_reason(answer: ApprovalState) -> str:
    return answer.reason or "no reason given"
