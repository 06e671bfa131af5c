"""Grants as predicates of paths: which files the plan lets a task change although they are protected."""

from collections.abc import Callable, Iterable, Sequence

from orchestrator.domain.run.grant import PLAIN_INTENTS, AnyGrant, GrantIntent, read_grants


def build_grant_matcher(
    grants: Sequence[AnyGrant], intents: Iterable[GrantIntent] = PLAIN_INTENTS
) -> Callable[[str], bool]:
    """Return a predicate that is true of paths which one of these grants lets change by one of the intents."""
    known, wanted = read_grants(grants), frozenset(intents)

    def is_granted(path: str) -> bool:
        return any(grant.matches_file(path, wanted) for grant in known)

    return is_granted
