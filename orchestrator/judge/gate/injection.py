"""Files that are put into the sandbox beside a check, under names drawn anew for each run and kept nowhere."""

from collections.abc import Mapping
from dataclasses import dataclass

REPORT_VARIABLE = "ORCHESTRATE_REPORT"
"""The variable that holds where a check is to write its report."""


@dataclass(frozen=True)
class SandboxInjection:
    """Lines of shell before the command, and what they read; `names` maps what was drawn to how it is recorded.

    The lines are always the same, so that two runs differ in nothing that is kept.
    """

    before: str
    stdin: str
    names: Mapping[str, str]

    def hide_drawn_names(self, text: str) -> str:
        """Return a text as it is recorded, without anything that was drawn."""
        for drawn, name in self.names.items():
            text = text.replace(drawn, name)
        return text


NO_INJECTION = SandboxInjection("", "", {})
