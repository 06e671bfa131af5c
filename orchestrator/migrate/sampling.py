"""Choosing the sample."""

from collections.abc import Sequence

from orchestrator.domain.migration import FileRecord
from orchestrator.migrate.recipe import Sample

SAMPLE = "sample"


def choose_sample(files: Sequence[FileRecord], sample: Sample, pairs: Sequence[str]) -> tuple[str, ...]:
    """The first files."""
    return tuple(file.path for file in files[: sample.files])
