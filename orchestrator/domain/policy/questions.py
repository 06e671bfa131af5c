"""Questions of the policy, and the digest by which one is known again: the same thing is asked once for each task."""

import hashlib

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.policy.decision import PolicyDecision, normalize_path
from orchestrator.domain.policy.rules import PolicyActor, PolicySubject

_DIGEST_CHARS = 12


class PolicyQuestion(FrozenModel):
    """Something that a person is to be asked about, and what makes it so.

    `about` tells questions on the same subject apart, `detail` are lines for the person who decides.
    """

    subject: PolicySubject
    decision: PolicyDecision
    about: str = ""
    detail: tuple[str, ...] = ()


def digest_question(actor: PolicyActor, subject: PolicySubject, about: str = "") -> str:
    """Return the digest of who asks and what about; a path is the same however it is written."""
    name = normalize_path(subject.name) if subject.kind in ("write", "merge") else subject.name
    parts = [actor.role, subject.kind, name, normalize_path(subject.path)]
    if about:
        parts.append(about)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGEST_CHARS]
