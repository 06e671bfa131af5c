"""Sizes, Markdown and HTML, the same in every document."""
