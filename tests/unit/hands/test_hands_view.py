"""A sandbox seen from outside while it is not there yet."""

import os
from contextlib import closing

from orchestrator.hands.limits.resource_usage import UsageReader


def test_files_of_the_host_are_not_counted_while_a_sandbox_is_still_being_built() -> None:
    """Its first process stands in the host's file systems then, as this one does."""
    with closing(UsageReader(os.getpid(), os.getpid())) as view:
        assert os.statvfs("/").f_files - os.statvfs("/").f_ffree > 0
        assert view.measure_tmpfs("/") == (0, 0)
