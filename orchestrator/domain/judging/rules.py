"""Rules for changes, by the ids under which findings are stored; their checks are in `orchestrator.judge.rules`."""

from enum import StrEnum


class RuleId(StrEnum):
    """The id of a rule; `description` says in a few words what the rule finds."""

    description: str

    def __new__(cls, value: str, description: str) -> "RuleId":
        """Return the member that is `value` as text and carries its description."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member

    EMPTY = "empty", "an attempt that changed nothing"
    SIZE = "size", "a change that is too large to be read"
    SECRET = "secret", "a secret of the user's"
    DROPPED = "dropped", "files that were left out of a change"
    FLAGGED = "flagged", "files that a reviewer should know of"
    SCOPE = "scope", "changes outside of the paths that the task named"
    PROTECTED = "protected", "tests or settings that were changed without a grant"
    FORGERY = "forgery", "code that could change how a test run ends, or what it says"
    UNREADABLE = "unreadable", "code that is nested too deeply for any rule to look into"
    SUPPRESSION = "suppression", "a tool that is silenced"
    CREDENTIAL = "credential", "what looks like a token or a private key"
    WEAKENED = "weakened", "a test that asks for less than before"
    IDENTIFIER = "identifier", "names that look alike and are not"
    MODE = "mode", "a file that became executable, a link or a submodule"
    LINTER = "linter", "what linters or type checkers ask for, changed"
    BINARY = "binary", "a file whose content no diff shows"
    GENERATED = "generated", "a file that a program writes, or that nobody can read"
    LAYOUT = "layout", "a change in how a file is laid out, in which another could hide"
    ADDRESSED = "addressed", "text in a change that speaks to whoever reviews it"
    HIDDEN_TEXT = "hidden-text", "characters that a reader does not see"
    FLAKY = "flaky", "a test that passed and failed on one tree"
    NEW_TESTS = "new-tests", "new tests that prove nothing"
