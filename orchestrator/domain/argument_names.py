"""The names that other tools have taught models for the arguments of ours."""

from collections.abc import Mapping

OTHER_ARGUMENT_NAMES: Mapping[str, tuple[str, ...]] = {
    "path": ("file_path", "filepath", "file", "filename", "file_name", "target_file"),
    "text": ("content", "contents", "file_text", "file_content"),
    "old": ("old_string", "old_str", "old_text", "search"),
    "new": ("new_string", "new_str", "new_text", "replace"),
    "command": ("cmd", "script", "bash", "command_line"),
    "code": ("program", "script", "source", "python"),
    "pattern": ("regex", "regexp", "query"),
    "query": ("pattern",),
    "glob": ("include", "glob_pattern", "pattern"),
    "start": ("start_line",),
    "end": ("end_line",),
    "timeout_s": ("timeout",),
    "task": ("task_id", "id", "name", "slice"),
    "page": ("page_number", "number"),
}
"""An argument of a tool → the other names under which a model may give it."""
