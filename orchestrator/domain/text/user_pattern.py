"""Regular expressions that a person wrote, in a recipe, a setting or an option."""

import re
from typing import AnyStr


def compile_user_pattern(pattern: AnyStr) -> re.Pattern[AnyStr]:
    """Return the expression compiled.

    Raises:
        ValueError: it is no regular expression, or one that is nested too deeply or counts too far.
    """
    try:
        return re.compile(pattern)
    except RecursionError as error:
        raise ValueError("no regular expression: it is nested too deeply") from error
    except (re.error, OverflowError, ValueError) as error:
        raise ValueError(f"no regular expression: {error}") from error
