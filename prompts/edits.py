"""Changing a prompt by quoted pieces of it, so that what comes out can still be rendered as before."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from prompts.loader import Prompt, PromptError, parse_prompt

MAX_EDITS = 8
MAX_GROWTH_CHARS = 2_000
"""A prompt that grows by more with every lesson is soon one that no model keeps to."""
_VERSION_LINE = re.compile(r"^version:[ \t]*\d+[ \t]*$", re.MULTILINE)


class PromptEdit(NamedTuple):
    """A piece of a prompt's text, which stands there once, and what stands there instead."""

    old: str
    new: str


def apply_prompt_edits(prompt: Prompt, edits: Sequence[PromptEdit]) -> Prompt:
    """Return the prompt with its edits and the next version. Its head cannot be edited.

    Raises:
        PromptError: an edit does not fit the text, or the prompt would take other inputs; says what is wrong.
    """
    if not 0 < len(edits) <= MAX_EDITS:
        raise PromptError(f"prompt {prompt.name}: between 1 and {MAX_EDITS} edits can be made, not {len(edits)}")
    text = prompt.text
    for edit in edits:
        text = _apply_edit(prompt.name, text, edit)
    if len(text) - len(prompt.text) > MAX_GROWTH_CHARS:
        raise PromptError(f"prompt {prompt.name}: the edits make it longer by more than {MAX_GROWTH_CHARS} characters")
    head = prompt.source.removesuffix(prompt.text)
    changed = parse_prompt(prompt.name, _VERSION_LINE.sub(f"version: {prompt.version + 1}", head, count=1) + text)
    if changed.inputs != prompt.inputs:
        raise PromptError(f"prompt {prompt.name}: it has to keep its inputs {sorted(prompt.inputs)}")
    return changed


def _apply_edit(name: str, text: str, edit: PromptEdit) -> str:
    count = text.count(edit.old)
    if not edit.old.strip() or count != 1:
        shown = edit.old[:80]
        raise PromptError(f"prompt {name}: the old text {shown!r} stands there {count} times; quote it so that it is 1")
    if edit.old == edit.new:
        raise PromptError(f"prompt {name}: an edit changes nothing")
    return text.replace(edit.old, edit.new)
