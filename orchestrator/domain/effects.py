"""Every kind of effect on the world outside the journal, and how one is settled whose process died in the middle."""

from collections.abc import Mapping

CRASH_MOMENTS = ("before-intent", "after-intent", "before-done", "after-done")
"""The moments around an effect at which a process may die; `docs/effects.md` says what is true at each."""

EFFECTS: Mapping[str, str] = {
    "workspace": "Abandoned: a workspace is leased anew, and idle ones are swept; nothing in it was promised.",
    "candidate": "Abandoned and taken again: the same files make the same commit, and its ref is simply set again.",
    "snapshot": "Abandoned: the turn was not booked as whole, so its tools run again on the tree of the turn before.",
    "model": "Booked as possibly billed (`model.failed`, error `lost`) and asked again with the same request.",
    "tool": "Abandoned: the workspace goes back to the tree of the last whole turn, and the turn's tools run again, "
    "but for a call that a person stopped, and one of an MCP server's tool that does not say that it may be repeated.",
    "check": "Abandoned and run again in a fresh workspace, or taken over from an earlier run: only a recorded receipt "
    "counts.",
    "landing": "Done if the PR branch holds the commit, else abandoned: the branch moves by compare-and-swap.",
    "rewind": "Done if the PR branch has left the commit that a restart leaves behind, else abandoned and moved again.",
    "ref": "Abandoned and set again: setting a ref twice to the same commit is the same as once.",
    "pr": "Abandoned and opened again: the forge finds the pull request of the branch and updates it.",
    "merge": "In this repository done if the target holds the commit; else abandoned and merged again: a forge merges "
    "that very commit only and says so where it has, and a branch here moves by compare-and-swap.",
    "close": "Abandoned and closed again: the forge finds its comment, and a closed pull request stays closed.",
    "push": "Done if the remote's branch holds the commit, else abandoned and pushed again: never by force.",
    "hook": "Abandoned: a before_* hook runs again when its point comes again, an after_* hook at most once.",
    "notification": "A command is never run again and booked as possibly sent; a file is written again under its name.",
    "step": "Abandoned; the step goes on with the files that are not yet booked.",
}
"""Effect → what recovery does with an intent that has no done event. Names are the first words of intents' kinds."""

_ELSEWHERE = (
    *("engine.before-claim", "engine.after-claim", "recovery.before", "recovery.after", "setup.before-keep"),
    *("setup.after-keep", "inbox.before-record", "inbox.after-record", "journal.before-commit", "journal.after-commit"),
    *("guide.before-lock", "guide.before-rename", "guide.after-rename"),
)

CRASH_POINTS: tuple[str, ...] = (*(f"{name}.{moment}" for name in EFFECTS for moment in CRASH_MOMENTS), *_ELSEWHERE)
"""All names that `orchestrator.crash.crash_point` is called with."""
