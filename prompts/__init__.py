"""Prompts as Markdown files, loaded strictly."""
