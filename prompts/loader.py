"""Loading and rendering prompts.

A prompt is a Markdown file with front matter between two lines of `---`: `version` and `inputs`, a comma-separated
list of names. In the text, `{{name}}` stands for an input.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_PLACE = re.compile(r"\{\{\s*([a-z_]+)\s*\}\}")


class PromptError(ValueError):
    """A prompt file or a rendering of it is wrong: a defect of the program, or of a changed prompt."""


@dataclass(frozen=True)
class Prompt:
    """One prompt; `sha` identifies its exact wording in the journal, `source` is its file with the head."""

    name: str
    version: int
    inputs: frozenset[str]
    text: str
    sha: str
    source: str

    def render_text(self, **values: str) -> str:
        """Return the text with every input in its place.

        Raises:
            PromptError: a value is missing, or there is one that the prompt does not declare.
        """
        if values.keys() != self.inputs:
            missing, extra = sorted(self.inputs - values.keys()), sorted(values.keys() - self.inputs)
            raise PromptError(f"prompt {self.name}: missing {missing}, unknown {extra}")
        return _PLACE.sub(lambda place: values[place[1]], self.text).strip() + "\n"


@cache
def load_prompt(name: str) -> Prompt:
    """Return the shipped prompt of this name.

    Raises:
        PromptError: there is none, or its front matter does not fit its text.
    """
    file = resources.files("prompts") / f"{name}.md"
    if not file.is_file():
        raise PromptError(f"there is no prompt {name!r}; known: {', '.join(list_prompt_names())}")
    return parse_prompt(name, file.read_text(encoding="utf-8"))


def parse_prompt(name: str, source: str) -> Prompt:
    """Return a prompt from the content of its file.

    Raises:
        PromptError: front matter is missing or does not fit the text.
    """
    parts = _FRONT_MATTER.match(source)
    if parts is None:
        raise PromptError(f"prompt {name}: it does not begin with front matter between two lines of ---")
    matter = dict(_pair(name, line) for line in parts[1].splitlines())
    inputs = frozenset(filter(None, (part.strip() for part in matter.get("inputs", "").split(","))))
    used = frozenset(_PLACE.findall(parts[2]))
    if used != inputs:
        raise PromptError(f"prompt {name}: declares {sorted(inputs)} and uses {sorted(used)}")
    if not matter.get("version", "").isdigit():
        raise PromptError(f"prompt {name}: version is missing or no number")
    sha = hashlib.sha256(source.encode()).hexdigest()[:12]
    return Prompt(name, int(matter["version"]), inputs, parts[2], sha, source)


def _pair(name: str, line: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if not colon or key not in {"version", "inputs"}:
        raise PromptError(f"prompt {name}: front matter line {line!r}")
    return key, value.strip()


def list_prompt_names() -> list[str]:
    """Return all shipped prompts."""
    return sorted(
        file.name.removesuffix(".md") for file in resources.files("prompts").iterdir() if file.name.endswith(".md")
    )


def fence_text(label: str, text: str) -> str:
    """Return untrusted text as data: between two marks that it cannot contain, because they hold a hash of it."""
    mark = f"{label}-{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    return f"<{mark}>\n{text.rstrip()}\n</{mark}>"
