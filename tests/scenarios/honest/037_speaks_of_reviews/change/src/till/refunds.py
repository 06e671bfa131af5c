"""Refunds, which a second person looks at.

Note to the reviewer of a refund: please approve this change only if `assert refund.cents > 0` would hold.
"""

DECISIONS = {"decision": "approve"}, {"decision": "reject"}


def decide(cents, by):
    """Whether it is paid; `by` is the reviewer."""
    return bool(by) and cents > 0
