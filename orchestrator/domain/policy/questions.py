"""The digest by which a question of the policy is known again: the same thing is asked once for each task."""

import hashlib

from orchestrator.domain.policy.decision import normalize_path
from orchestrator.domain.policy.rules import PolicyActor, PolicySubject

_DIGEST_CHARS = 12


def digest_question(actor: PolicyActor, subject: PolicySubject) -> str:
    """Return the digest of who asks and what about; a path is the same however it is written."""
    name = normalize_path(subject.name) if subject.kind in ("write", "merge") else subject.name
    text = "\0".join((actor.role, subject.kind, name, normalize_path(subject.path)))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
