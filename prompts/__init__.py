"""Prompts as Markdown files, loaded strictly: a value too few or too many is an error, never an empty place."""

from prompts.loader import Prompt, PromptError, fence, load

__all__ = ["Prompt", "PromptError", "fence", "load"]
