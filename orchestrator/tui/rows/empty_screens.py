"""Texts for views without rows: what is the case, and in the lines below it what will appear there and when."""

from orchestrator.domain.run.state import RunState

NO_EVENT = """Nothing has happened yet.
The first row appears when the engine has started and asks the planner."""
NO_PLAN = """There is no plan yet.
Tasks appear when the planner has divided the goal. Until then the fleet shows what it does."""
NOTHING_BLOCKED = """Nothing is blocked.
A task appears here when it cannot go on by itself. v shows all tasks again."""
NO_QUESTION = """Nothing waits for a person.
Questions appear here when the run needs an answer: to a plan, a landing, a budget, or a worker's wish."""
NO_MODEL_ASKED = """No model was asked.
Costs appear with the first reply of a model: by task, role, model, outcome and waste."""
NOTHING_WASTED = """Nothing was wasted.
Spending on attempts that did not land appears here."""
NO_FILE_CHANGED = """No file is changed yet.
Files appear as soon as the worker has written to its workspace."""
NO_CHANGE = """There is no change yet.
The lines appear as soon as the worker has written to its workspace."""
NOTHING_SAID = """Nothing was said yet.
Words and tool calls appear as the model replies."""
NO_LOG = """Nothing has happened yet.
Events appear as they are recorded."""
NOTHING_FAILED = """Nothing has failed.
Files whose change did not land appear here, those that failed alike in one row."""
NO_FILE_TO_DO = """No file has anything to do yet.
Groups of files appear when the files in scope were counted."""
NO_FILE_IN_SCOPE = """No file is in scope yet.
Files appear when the files in scope were counted."""
NO_FIT = """Nothing fits the filter.
esc removes it, / changes it."""


def describe_empty_fleet(state: RunState) -> str:
    """Return the text of a fleet without rows."""
    if state.started is None:
        return NO_EVENT
    if state.ended is not None:
        return "Nobody is at work: the run is over.\nz shows what was done, 3 what landed."
    if state.run.mode == "migration":
        return (
            "The files in scope are being counted.\n"
            "A row appears for each step at work, and for each file that failed or waits."
        )
    return (
        "Nobody is at work yet: the run is being made ready.\n"
        "A row appears for the planner when it reads the goal, then for each task and each conversation."
    )


def describe_empty_queue(state: RunState) -> str:
    """Return the text of a merge queue without rows: of a migration without shards."""
    if state.run.mode == "migration":
        return "There is no shard yet.\nShards appear when the files in scope were counted. Each lands as one commit."
    if state.ended is not None:
        return "Nothing landed.\nThe plan shows why each task ended: 2."
    return (
        "No landings yet.\n"
        "A task appears here when its worker is done. It lands when its rules, tests and reviews are green."
    )
