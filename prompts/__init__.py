"""Prompts as Markdown files, loaded strictly: a value too few or too many is an error, never an empty place."""

from prompts.loader import Prompt, PromptError, fence_text, load_prompt
from prompts.source import SHIPPED_PROMPTS, PromptSource

__all__ = ["SHIPPED_PROMPTS", "Prompt", "PromptError", "PromptSource", "fence_text", "load_prompt"]
