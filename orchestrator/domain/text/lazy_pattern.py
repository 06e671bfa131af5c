"""Regular expressions that are compiled at their first use, so that importing a module compiles none."""

import re
from functools import cached_property
from typing import Any, AnyStr, Generic, cast


def compile_lazily(pattern: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """Return the expression as a pattern that is compiled when it is used for the first time.

    It has every attribute and method of `re.Pattern`, but cannot be given to functions of `re`. A mistake in the
    expression is raised at its first use; a test compiles them all.
    """
    return cast(re.Pattern[AnyStr], LazyPattern(pattern, flags))


class LazyPattern(Generic[AnyStr]):
    """An expression that becomes a pattern at first use; made by `compile_lazily`."""

    def __init__(self, pattern: AnyStr, flags: int | re.RegexFlag) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        """The compiled expression."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return the attribute of the compiled expression, and keep it, so that it is looked up here only once."""
        value = getattr(self.compiled, name)
        self.__dict__[name] = value
        return value
