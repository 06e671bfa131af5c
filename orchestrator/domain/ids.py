"""Ids: what names a thing, and the one place that builds composite names and parses them.

A task's id is its path in the plan tree, so it is stable, short and readable. Nothing here needs a model of pydantic's:
verbs that only find a run do not wait for it.
"""

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple, NewType

from orchestrator.domain.text.lazy_pattern import compile_lazily

RunId = NewType("RunId", str)
TaskId = NewType("TaskId", str)
SessionId = NewType("SessionId", str)
CommitId = NewType("CommitId", str)
TreeId = NewType("TreeId", str)
UnitId = NewType("UnitId", str)
"""What the queue lands or ejects as one: a task, or one file of a migration."""
CRITERION_ID_PATTERN = r"[a-z0-9][a-z0-9-]{0,39}"
"""The pattern of a criterion's id."""

ROOT_TASK = TaskId("root")
TASK_KEY_PATTERN = compile_lazily(r"[a-z0-9][a-z0-9-]{0,39}\Z")


FIRST_LENS = "diff"
"""The lens whose sessions have no name of their own: for long it was the only one."""
_SESSION_ROLES = {
    "plan": "planner",
    "grant": "planner",
    "work": "worker",
    "review": "judge",
    "verdict": "judge",
    "contest": "judge",
    "choice": "judge",
    "verify": "verifier",
    "verify-goal": "verifier",
}


def choose_free_name(wanted: str, taken: Container[str]) -> str:
    """Return `tail`, or `tail-2` and so on where that is taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def build_child_task_id(parent: TaskId, key: str) -> TaskId:
    """Return the id of a planner's task: `storage` below the root, `storage/index` below that."""
    return TaskId(key if parent == ROOT_TASK else f"{parent}/{key}")


def is_at_or_below(task: TaskId, planner: TaskId) -> bool:
    """Return True if a task is the planner's own, or stands anywhere below it."""
    return planner in (ROOT_TASK, task) or task.startswith(f"{planner}/")


def find_common_task(tasks: Sequence[TaskId]) -> TaskId:
    """Return the lowest task that stands at or above all of these, of which there is at least one."""
    common = tasks[0].split("/")
    for task in tasks:
        parts = task.split("/")
        while common and parts[: len(common)] != common:
            common.pop()
    return TaskId("/".join(common)) if common else ROOT_TASK


def get_task_key(task: str) -> str:
    """Return what a task's planner calls it: the last part of its id."""
    return task.rpartition("/")[2]


def format_task_ref(task: TaskId) -> str:
    """Return the task id as one component of a ref: `storage/index` becomes `storage.index`."""
    return task.replace("/", ".")


def get_run_suffix(run: RunId) -> str:
    """Return the last part of a run's id, which its PR branch ends with."""
    return run.rpartition("-")[2]


LATEST_RUN = "latest"
"""The name of the latest run, wherever a run is named."""
RUN_SUFFIX_CHARS = 4
"""The length of a run's suffix. A shorter name would fit a run by chance."""


def find_named_runs(wanted: str, runs: Iterable[RunId]) -> list[RunId]:
    """Return the runs that a name may mean: the one of this id, else those whose id begins with it or has this suffix.

    The suffix is the whole part after the last hyphen. A name of fewer than four characters means no run.
    """
    known = list(runs)
    if wanted in known:
        return [RunId(wanted)]
    if len(wanted) < RUN_SUFFIX_CHARS:
        return []
    return [run for run in known if run.startswith(wanted) or get_run_suffix(run) == wanted]


class AttemptRef(NamedTuple):
    """One attempt at a task, as a unit of the queue names it: `storage/index@2`."""

    task: TaskId
    number: int


def build_unit_id(task: TaskId, attempt: int) -> UnitId:
    """Return the unit that an attempt at a task is in the queue."""
    return UnitId(f"{task}@{attempt}")


def parse_unit_id(unit: str) -> AttemptRef | None:
    """Return the attempt that a unit stands for; None if it stands for none, such as a file of a migration."""
    task, _, number = unit.rpartition("@")
    if task and number.isdecimal():
        return AttemptRef(TaskId(task), int(number))
    return None


def parse_unit_task(unit: str) -> TaskId:
    """Return the task of a unit; empty if the unit stands for no attempt."""
    return TaskId(unit.rpartition("@")[0])


def build_planning_session_id(task: TaskId, iteration: int, round_number: int, try_number: int = 1) -> SessionId:
    """Return the name of a planner's conversation in one round; later tries of it have their number at the end."""
    return _add_try_number(f"plan:{task}@{iteration}.{round_number}", try_number)


def _add_try_number(session: str, try_number: int) -> SessionId:
    if try_number > 1:
        return SessionId(f"{session}.{try_number}")
    return SessionId(session)


def build_work_session_id(task: TaskId, number: int) -> SessionId:
    """Return the name of a worker's conversation in one attempt."""
    return SessionId(f"work:{task}@{number}")


def build_review_session_id(task: TaskId, number: int, lens: str) -> SessionId:
    """Return the name of the conversation with a lens about an attempt."""
    if lens == FIRST_LENS:
        return SessionId(f"review:{task}@{number}")
    return SessionId(f"review:{task}@{number}/{lens}")


def build_grant_session_id(task: TaskId, number: int) -> SessionId:
    """Return the name of the conversation with a planner about a task's wish for a grant, counted from 1."""
    return SessionId(f"grant:{task}@{number}")


def build_verdict_session_id(iteration: int, rejudge_count: int, try_number: int = 1) -> SessionId:
    """Return the name of the judge's conversation about the whole; later tries of it have their number at the end."""
    if rejudge_count:
        return _add_try_number(f"verdict:{iteration}+{rejudge_count}", try_number)
    return _add_try_number(f"verdict:{iteration}", try_number)


def build_verifier_session_id(task: TaskId) -> SessionId:
    """Return the name of the verifier's conversation about a task."""
    return SessionId(f"verify:{task}")


GOAL_VERIFIER_SESSION = SessionId("verify-goal:root")
"""The name of the verifier's conversation about the goal itself."""


def build_contest_session_id(task: TaskId, number: int, place: int) -> SessionId:
    """Return the name of the judge's conversation about a contested test; `place` counts those of an attempt."""
    return SessionId(f"contest:{task}@{number}.{place}")


def build_choice_session_id(first: TaskId, attempts: int) -> SessionId:
    """Return the name of the judge's conversation about rivals; `attempts` counts all attempts at them."""
    return SessionId(f"choice:{first}@{attempts}")


def parse_session_lens(session: str) -> str | None:
    """Return the lens that a conversation is with; None if it is no review."""
    if not session.startswith("review:"):
        return None
    return session.rpartition("@")[2].partition("/")[2] or FIRST_LENS


def parse_session_role(session: str) -> str:
    """Return the role whose conversation it is; empty where the name does not tell."""
    return _SESSION_ROLES.get(session.partition(":")[0], "")


def build_effect_key(name: str, tries: int) -> str:
    """Return the key of the next try of an effect: its name and how often it was begun before, `land/4be21aa~0`."""
    return f"{name}~{tries}"


def parse_effect_name(key: str) -> str:
    """Return the effect that a key is a try of."""
    return key.rpartition("~")[0]


def build_check_id(check: str, digest: str) -> str:
    """Return the id under which receipts of a check stand: with a hash of what defines the check."""
    return f"{check}.{digest}"


def parse_check_name(check: str) -> str:
    """Return the id of a receipt's check without the hash of what defines it."""
    return check.rpartition(".")[0] or check


class QuestionId(NamedTuple):
    """The short name of a question, which stays: `q1` is the first question that its run asked."""

    number: int

    def __str__(self) -> str:
        return f"q{self.number}"


_QUESTION_ID = compile_lazily(r"q([1-9][0-9]{0,8})\Z")


def parse_question_id(word: str) -> QuestionId | None:
    """Return the question that a word such as `q2` names; None if it is no such name."""
    found = _QUESTION_ID.match(word)
    return QuestionId(int(found[1])) if found else None


def is_question_name(word: str) -> bool:
    """Return True if a word can only name a question: `q2`, or a whole item such as `landing/parser@1`."""
    return "/" in word or parse_question_id(word) is not None


def build_approval_item(matter: str, subject: str) -> str:
    """Return the name under which a question is put and answered."""
    return f"{matter}/{subject}"


def build_landing_item(unit: UnitId) -> str:
    """Return the name of the question whether a unit may land."""
    return build_approval_item("landing", unit)


def build_tier_subject(task: TaskId, tier: int) -> str:
    """Return the subject of the question whether a task's commands may run at a tier."""
    return f"{task}/{tier}"


def build_policy_subject(task: TaskId, digest: str) -> str:
    """Return the subject of the question whether the agents of a task may do something that the policy asks about."""
    return f"{task}/{digest}"


def parse_tier_task(subject: str) -> TaskId:
    """Return the task whose commands or agents a question about a tier or by the policy is about."""
    return TaskId(subject.rpartition("/")[0])


def build_plan_subject(task: TaskId, round_number: int) -> str:
    """Return the subject of the question whether a planner's tasks may begin."""
    return f"{task}@{round_number}"


def parse_plan_task(subject: str) -> TaskId:
    """Return the planner's task that a question about a plan is about."""
    return TaskId(subject.rpartition("@")[0])


def parse_plan_round(subject: str) -> int:
    """Return the planner's round that a question about a plan is about."""
    return int(subject.rpartition("@")[2])


def build_plan_item(task: TaskId, round_number: int) -> str:
    """Return the name of the question whether the tasks of a planner's round may begin."""
    return build_approval_item("plan", build_plan_subject(task, round_number))


def build_commit_subject(commit: str, group: str = "") -> str:
    """Return the subject of a question about a pull request; `group` names one of several."""
    return f"{group}/{commit[:12]}" if group else commit[:12]


def is_about_group(subject: str) -> bool:
    """Return True if a question is about one of several pull requests."""
    return "/" in subject


def build_contract_subject(iteration: int, rejudge_count: int) -> str:
    """Return the subject of the question whether the contract is extended; another one for what is judged anew."""
    return f"{iteration}+{rejudge_count}" if rejudge_count else f"{iteration}"


def build_progress_subject(topic: str, rejudge_count: int) -> str:
    """Return the subject of the question whether a migration is to go on: its topic, numbered when put again."""
    return f"{topic}-{rejudge_count + 1}" if rejudge_count else topic


def parse_progress_topic(subject: str) -> str:
    """Return the topic of the question whether a migration is to go on."""
    return subject.partition("-")[0]


def make_slug(text: str, limit: int = 40) -> str:
    """Return the lower-case words of `text` joined by hyphens, at most `limit` characters, never empty."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:limit].rstrip("-") or "run"
