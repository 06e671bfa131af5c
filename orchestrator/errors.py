"""Errors grouped by who has to react; each one that reaches a user carries its exit code.

The message of a user-facing error says what happened, where, and how to mend it.
Exit codes: 2 usage, 5 limit reached (resumable) or a pattern that matches nothing, 6 waits for a person,
7 environment or credentials, 8 locked, 75 provider down (EX_TEMPFAIL of sysexits.h).
"""

import errno
from collections.abc import Iterator
from typing import ClassVar

from worktrees.errors import GitError, LockedRepository, LockTimeout


class OrchestrateError(Exception):
    """Base of every error of this package; shown to the user as its message alone, without a traceback."""

    exit_code: ClassVar[int] = 1


class UsageProblem(OrchestrateError):
    """The user's input cannot be acted on: arguments, configuration, recipe, repository state.

    `key` is where in a recipe the mistake stands, if it stands in one: each part is a key, the id or index of a table
    in a list, or the text of an entry. The line is found by `migrate.recipe.reader`, which knows the file.
    """

    exit_code = 2

    def __init__(self, told: str = "", key: tuple[str | int, ...] = ()) -> None:
        super().__init__(told)
        self.key = key


class NothingToMigrate(UsageProblem):
    """No pattern of a recipe has a site in any file in scope."""

    exit_code = 5


class LimitReached(OrchestrateError):
    """A budget or time limit ended the run; it can be resumed with a larger one.

    `place` is where under [budget] that limit stands: () for the run's own, None where no larger one would help.
    """

    exit_code = 5

    def __init__(self, told: str, place: tuple[str, ...] | None = None) -> None:
        super().__init__(told)
        self.config_path = place


class OutOfBudget(OrchestrateError):
    """The limit of one task allows it no further model call; its session ends with that, and the run goes on."""

    exit_code = 5


class PersonNeeded(OrchestrateError):
    """The run cannot go on before a person has done something; it can be resumed afterwards."""

    exit_code = 6


class PausedByPerson(PersonNeeded):
    """Somebody paused the run; what it stopped is due again as soon as somebody continues it."""


class UnsafeLanding(PersonNeeded):
    """A landing that is not what was tested, or takes back what landed before; the branch stays where it is."""


class EnvironmentProblem(OrchestrateError):
    """Something outside the work is missing or broken: sandbox, tool, credentials, disk, git."""

    exit_code = 7


class HostLost(EnvironmentProblem):
    """The host that carried a workspace was lost: what was being done there is done again elsewhere.

    `host` is its name.
    """

    def __init__(self, told: str = "", host: str = "") -> None:
        super().__init__(told)
        self.host = host


class RepositoryLocked(EnvironmentProblem):
    """A lock file keeps git from its work: the message names it, who may hold it, and the way on."""

    exit_code = 8


class JournalProblem(EnvironmentProblem):
    """The journal cannot be read or written: disk full, corrupt file, unknown event version."""


class BlobLost(JournalProblem):
    """`orchestrate repair` has found this blob missing or damaged: what it held is gone."""


class SearchUnavailable(EnvironmentProblem):
    """The words of a run cannot be searched; its journal is sound, and the run goes on without."""


class RunTakenOver(JournalProblem):
    """Another process took the run over while this one slept; this one may record nothing more."""

    exit_code = 8


class RunLocked(OrchestrateError):
    """Another process is working on this run."""

    exit_code = 8


class ProviderDown(OrchestrateError):
    """A model provider or a forge stayed unavailable after bounded retries; try again later."""

    exit_code = 75


class Interrupted(OrchestrateError):
    """Ctrl-C: twice, or once and what was running is finished. Everything recorded is kept."""

    exit_code = 130


class Terminated(OrchestrateError):
    """SIGTERM. Everything recorded is kept."""

    exit_code = 143


class RunCancelled(OrchestrateError):
    """A person gave up the run; what landed stays."""

    exit_code = 4


class ToolRefused(OrchestrateError):
    """A tool call was refused; the message goes back to the model, which may try something else."""


class ProgramGone(OrchestrateError):
    """A program that was spoken with has ended, or does not listen any more."""


class MalformedReply(OrchestrateError):
    """A model's reply could not be understood; the message goes back to the model."""


def find_sole_error(group: BaseExceptionGroup[BaseException]) -> OrchestrateError | None:
    """Return the error to show for a task group: one of ours if all are ours or the environment's, else None.

    A lost host is the answer only where nothing else went wrong: it alone would have all of it begun anew.
    """
    leaves = list(map(convert_error, _iterate_leaves(group)))
    ours = [leaf for leaf in leaves if leaf is not None]
    if not ours or len(ours) < len(leaves):
        return None
    for error in ours:
        if not isinstance(error, HostLost):
            return error
    return ours[0]


def find_lost_host(error: BaseException) -> HostLost | None:
    """Return the loss of a host that an error is, or a group of nothing but such losses; None for any other."""
    found = find_sole_error(error) if isinstance(error, BaseExceptionGroup) else error
    return found if isinstance(found, HostLost) else None


def convert_error(error: BaseException) -> OrchestrateError | None:
    """Return an error of ours as it is; those of git, of locks and of a full disk as ours; None for any other."""
    if isinstance(error, OrchestrateError):
        return error
    if isinstance(error, LockTimeout):
        return RunLocked(str(error))
    if isinstance(error, LockedRepository):
        return RepositoryLocked(str(error))
    if isinstance(error, GitError):
        return EnvironmentProblem(str(error))
    if isinstance(error, OSError) and error.errno in _DISK_ERRNOS:
        return EnvironmentProblem(f"{error.filename or 'the disk'}: {error.strerror}; mend that, then resume the run")
    return None


_DISK_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


def _iterate_leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _iterate_leaves(inner)
    else:
        yield error
