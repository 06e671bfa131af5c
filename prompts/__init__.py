"""Prompts as Markdown files, loaded strictly: a value too few or too many is an error, never an empty place."""

from prompts.loader import Prompt, PromptError, fence, load
from prompts.source import SHIPPED, PromptSource

__all__ = ["SHIPPED", "Prompt", "PromptError", "PromptSource", "fence", "load"]
