"""The names of all refs that are ours, below `refs/orchestrate/`: built and parsed here and nowhere else."""

from dataclasses import dataclass
from shlex import quote

from orchestrator.domain.ids import RunId, TaskId, format_task_ref

NAMESPACE = "refs/orchestrate/"
PULL_REQUEST_PREFIX = f"{NAMESPACE}prs/"
LOCAL_FORGE = "local"
"""The forge whose pull requests are these refs."""
LEASE_PREFIX = f"{NAMESPACE}ci/"
_JOURNAL = "/journal"
FETCH_REFSPEC = f"+{NAMESPACE}*:{NAMESPACE}*"
"""The refspec that fetches or pushes all of them."""


def format_merge_command(branch: str, target: str) -> str:
    """Return the line for a shell with which a person merges a branch of this repository into the target."""
    switch = f"git switch {quote(target)} && " if target else ""
    return f"{switch}git merge {quote(branch)}"


@dataclass(frozen=True)
class RunRefs:
    """The refs of one run."""

    run: str

    @property
    def prefix(self) -> str:
        """What all of them begin with, without the slash that follows."""
        return NAMESPACE + self.run

    @property
    def epoch(self) -> str:
        """The ref that fences landings: whoever moved it last may land."""
        return f"{self.prefix}/epoch"

    @property
    def journal(self) -> str:
        """The ref that holds an archive of the run."""
        return self.prefix + _JOURNAL

    @property
    def human(self) -> str:
        """The ref with comments for the person whom files of a migration wait for."""
        return f"{self.prefix}/human"

    def owns_ref(self, ref: str) -> bool:
        """Return True if a ref belongs to this run."""
        return ref.startswith(f"{self.prefix}/")

    def build_unsquashed_ref(self, tip: str) -> str:
        """Return the ref that keeps commits for which one stands on the branch; `tip` is the last of them."""
        return f"{self.prefix}/unsquashed/{tip}"

    def build_iteration_ref(self, iteration: int, again: int = 0) -> str:
        """Return the ref that keeps what a restart left of an iteration; `again` counts earlier ones of the same."""
        name = f"{self.prefix}/iterations/{iteration}"
        if again:
            return f"{name}.{again + 1}"
        return name

    def build_candidate_ref(self, task: TaskId, attempt: int) -> str:
        """Return the ref that keeps the candidate of an attempt."""
        return f"{self.prefix}/tasks/{format_task_ref(task)}/{attempt}"

    def build_start_ref(self, task: TaskId, attempt: int) -> str:
        """Return the ref that keeps the merge with which an attempt begins."""
        return f"{self.prefix}/starts/{format_task_ref(task)}/{attempt}"

    def build_anchor_prefix(self, task: TaskId) -> str:
        """Return what the anchors of a task's sessions begin with, including the last slash."""
        return f"{self.prefix}/wip/{format_task_ref(task)}/"

    def build_anchor_ref(self, task: TaskId, name: str) -> str:
        """Return the ref that keeps the workspace of a session while it runs."""
        return self.build_anchor_prefix(task) + name

    def build_step_anchor_ref(self, step: str, workspace: str) -> str:
        """Return the ref that keeps what a migration step has made in a workspace."""
        return f"{self.prefix}/wip/step-{step}-{workspace}"

    def build_wave_ref(self, number: int) -> str:
        """Return the ref that keeps what a wave of a migration lands."""
        return f"{self.prefix}/steps/wave-{number}"

    def build_pull_request_ref(self, local_ref: str) -> str:
        """Return the run's own name for a pull request of the repository, for repositories that have others."""
        return f"{self.prefix}/prs/{local_ref.rpartition('/')[2]}"

    def build_backup_ref(self, ref: str, commit: str) -> str | None:
        """Return the ref that keeps what an import replaces; None for an anchor, which nobody misses."""
        rest = ref.removeprefix(f"{self.prefix}/")
        if rest.startswith("wip/"):
            return None
        return f"{self.prefix}/before-import/{rest}/{commit[:12]}"


def is_own_ref(ref: str) -> bool:
    """Return True if a ref is one of ours and not the user's."""
    return ref.startswith(NAMESPACE)


def parse_run(ref: str) -> RunId | None:
    """Return the run that a ref of ours belongs to, if it is a run's; None if it is not ours."""
    if not is_own_ref(ref):
        return None
    return RunId(ref.removeprefix(NAMESPACE).partition("/")[0])


def shorten_ref(ref: str) -> str:
    """Return one of a run's own refs without what all of them begin with."""
    return ref.removeprefix(NAMESPACE).partition("/")[2]


def build_lease_ref(key: str) -> str:
    """Return the ref that holds the ticket of a CI key."""
    return LEASE_PREFIX + key


def build_pull_request_ref(number: int) -> str:
    """Return the ref that holds a pull request of the repository itself."""
    return f"{PULL_REQUEST_PREFIX}{number}"


def parse_pull_request_number(ref: str) -> int | None:
    """Return the number in a pull request's ref; None if it is not one."""
    number = ref.removeprefix(PULL_REQUEST_PREFIX)
    if ref.startswith(PULL_REQUEST_PREFIX) and number.isdecimal():
        return int(number)
    return None


def parse_journal_ref(ref: str) -> RunId | None:
    """Return the run whose archive a ref holds; None if it is no such ref."""
    run = ref.removeprefix(NAMESPACE).removesuffix(_JOURNAL)
    return RunId(run) if ref == RunRefs(run).journal and "/" not in run else None
