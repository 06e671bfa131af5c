"""Names of a check's variables and files, drawn anew for each run, so that code under test cannot go by them.

What is kept of a run has the names that it was asked for with.
"""

import re
import secrets
from dataclasses import dataclass

from orchestrator.ports.hands import CommandResult, ShellCommand

_FIRST = ("OUT", "OUTPUT", "RESULT", "RESULTS", "REPORT", "ARTIFACT", "TARGET", "LOG", "CI", "TEST", "DATA", "BUILD")
_SECOND = ("FILE", "PATH", "XML", "TO", "DEST", "NAME", "LOCATION", "PLACE", "DATA", "SINK")
_STEMS = ("results", "output", "tests", "junit", "summary", "out", "data", "run", "all", "suite", "latest", "record")


@dataclass(frozen=True)
class DrawnCommand:
    """A command whose variables for files have drawn names; `variables` maps each of them to the name asked for."""

    command: ShellCommand
    variables: dict[str, str]

    def restore_names(self, result: CommandResult) -> CommandResult:
        """Return the command's result with its files under the names asked for."""
        files = {self.variables.get(variable, variable): content for variable, content in result.files.items()}
        return result.model_copy(update={"files": files})


def draw_names(command: ShellCommand) -> DrawnCommand:
    """Return a command in which the variables for its files, and these files, have other names each time."""
    line = command.line
    files: dict[str, str] = {}
    variables: dict[str, str] = {}
    for asked, file in command.files.items():
        drawn = _draw_variable([*command.files, *files, *command.env], line)
        line = re.sub(rf"(?<!\w){re.escape(asked)}(?!\w)", drawn, line)
        variables[drawn] = asked
        suffix = file[file.rfind(".") :] if "." in file else ""
        files[drawn] = f"{secrets.choice(_STEMS)}-{secrets.randbelow(900) + 100}{suffix}"
    return DrawnCommand(command.model_copy(update={"line": line, "files": files}), variables)


def _draw_variable(taken: list[str], line: str) -> str:
    """Return a name that is no variable of the command yet and stands nowhere in its line."""
    while True:
        name = f"{secrets.choice(_FIRST)}_{secrets.choice(_SECOND)}_{secrets.randbelow(90) + 10}"
        if name not in line and name not in taken:
            return name
