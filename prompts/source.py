"""The sources of prompts: the shipped ones, of which a directory may replace some by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prompts.loader import Prompt, PromptError, list_prompt_names, load_prompt, parse_prompt

_SUFFIX = ".md"


@dataclass(frozen=True)
class PromptSource:
    """The prompts of one run. `replaced` holds those that are not the shipped ones, by name."""

    replaced: Mapping[str, Prompt] = field(default_factory=dict)

    def load_prompt(self, name: str) -> Prompt:
        """Return the prompt of this name.

        Raises:
            PromptError: there is none.
        """
        return self.replaced.get(name) or load_prompt(name)

    def replace_prompts(self, other: "PromptSource") -> "PromptSource":
        """Return these prompts, replaced by those that are not the shipped ones in the other source."""
        return PromptSource({**self.replaced, **other.replaced})

    @classmethod
    def from_directory(cls, directory: Path, wanted: Callable[[str], bool] = lambda _name: True) -> "PromptSource":
        """Return the shipped prompts, replaced by the directory's `NAME.md` where the name is `wanted`. Blocks.

        Raises:
            PromptError: a file has the name of no prompt, cannot be read, or does not take the inputs of the shipped
                one; or no file is wanted.
        """
        replaced = {}
        for file in _files(directory):
            replaced[file.stem] = _replacement(file)
        chosen = {}
        for name, prompt in replaced.items():
            if wanted(name):
                chosen[name] = prompt
        if not chosen:
            known = ", ".join(f"{name}{_SUFFIX}" for name in list_prompt_names() if wanted(name))
            raise PromptError(f"{directory} replaces no prompt: it may hold {known}")
        return cls(chosen)


SHIPPED_PROMPTS = PromptSource()
"""The prompts as they ship."""


def _files(directory: Path) -> list[Path]:
    try:
        return sorted(file for file in directory.iterdir() if file.suffix == _SUFFIX)
    except OSError as error:
        raise PromptError(f"the prompts in {directory} cannot be read: {error.strerror or error}") from error


def _replacement(file: Path) -> Prompt:
    shipped = load_prompt(file.stem)
    try:
        prompt = parse_prompt(file.stem, file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"the prompt {file} cannot be read: {error}") from error
    if prompt.inputs != shipped.inputs:
        raise PromptError(
            f"the prompt {file} takes the inputs {sorted(prompt.inputs)}; it has to take {sorted(shipped.inputs)}"
        )
    return prompt
