"""The base of frozen values where there is no pydantic: what matching edits and cutting texts need of it."""


class PlainValue:
    """A value with fields that are given by name; those left out keep what the class says."""

    def __init__(self, **fields: object) -> None:
        vars(self).update(fields)


FrozenModel = PlainValue
"""Stands in the sandbox for `orchestrator.domain.frozen_model.FrozenModel`."""
