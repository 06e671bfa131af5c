"""The names by which models call a tool's arguments: its own, and those that other tools have taught them."""

from collections.abc import Mapping, Set

from orchestrator.domain.argument_names import OTHER_ARGUMENT_NAMES
from orchestrator.errors import MalformedReply
from orchestrator.llm.output_parsing import parse_json_object


def find_other_names(own: Set[str], given: Mapping[str, object]) -> dict[str, str]:
    """Return the tool's own name for each other one that stands in its place.

    It does where the own name is missing and it alone is there, or where all that are there say the same.

    Args:
        own: the names of the tool's arguments.
        given: the arguments as the model wrote them.
    """
    found: dict[str, str] = {}
    for name in sorted(own - given.keys()):
        used = [other for other in OTHER_ARGUMENT_NAMES.get(name, ()) if other in given and other not in own]
        if used and all(given[other] == given[used[0]] for other in used):
            found |= dict.fromkeys(used, name)
    return found


def rename_arguments(own: Set[str], given: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments under the tool's own names."""
    renamed = find_other_names(own, given)
    return {renamed.get(name, name): value for name, value in given.items()}


def read_other_names(own: Set[str], arguments: str) -> dict[str, str]:
    """Return what `find_other_names` does for arguments as JSON text; nothing where that cannot be read."""
    try:
        return find_other_names(own, parse_json_object(arguments))
    except MalformedReply:
        return {}


def describe_other_names(renamed: Mapping[str, str]) -> str:
    """Return what a model is told whose names were taken for the tool's own."""
    taken = ", ".join(f"`{other}` was taken as `{name}`" for other, name in sorted(renamed.items()))
    return f"[{taken}: that is its name here]"
