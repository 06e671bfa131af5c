"""The words in which hands refuse what cannot be had, and tell of a host that fails."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, RunLocked
from worktrees.errors import GitError, LockTimeout

NO_REGISTRIES = (
    "Commands at tier 2 would reach nothing here: there is no pip and no npm that is configured for a registry, and "
    "registries under [hands] names none."
)


def describe_refused_tier(tier: Tier, ceiling: Tier) -> str:
    """Return the refusal of a command whose tier is not to be had here."""
    if tier == Tier.FILES:
        return f"Commands are refused at tier {int(tier)}, {tier.description}."
    return f"Commands at tier {int(tier)} ({tier.description}) are not to be had here; the highest is {int(ceiling)}."


@contextmanager
def convert_host_errors(problem: str) -> Iterator[None]:
    """Turn failures of git and the disk into `EnvironmentProblem`: the work is not to blame."""
    try:
        yield
    except LockTimeout as error:
        raise RunLocked(str(error)) from error
    except GitError as error:
        advice = "If an object is damaged or missing, `git fsck` in your repository names it"
        raise EnvironmentProblem(f"{problem}: {error}. {advice}.") from error
    except OSError as error:
        raise EnvironmentProblem(f"{problem}: {error}.") from error
