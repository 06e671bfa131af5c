"""Reading what earlier runs of a repository cost, from what their engines derived last: no journal is replayed."""

import json
from contextlib import suppress

from orchestrator.domain.ids import RunId
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.storage.projection import read_projection
from orchestrator.report.cost.earlier_runs import EndedRunCost, summarize_earlier_costs
from orchestrator.report.cost.model import EarlierCosts
from orchestrator.report.projection_names import STATUS_PROJECTION

_MOST_RUNS = 20
_MOST_LOOKS = 60
_UNENDED = {"running", "paused"}


def collect_earlier_costs(state: StateDirectory, mode: str, without: RunId | None = None) -> EarlierCosts | None:
    """Return what the newest runs of one mode cost that ended and asked a model; None without any. Blocks.

    `without` is the run that is compared with them.
    """
    costs: list[EndedRunCost] = []
    for directory in reversed(state.list_runs()[-_MOST_LOOKS:]):
        if directory.run == without:
            continue
        cost = _read_cost(directory, mode)
        if cost is not None:
            costs.append(cost)
        if len(costs) == _MOST_RUNS:
            break
    return summarize_earlier_costs(costs)


def _read_cost(directory: RunDirectory, mode: str) -> EndedRunCost | None:
    stored = read_projection(directory.journal, STATUS_PROJECTION)
    if stored is None:
        return None
    with suppress(ValueError, KeyError, TypeError):  # another version of the program wrote it
        status = json.loads(stored.body)
        spent = status["spent"]
        if status["mode"] == mode and status["outcome"] not in _UNENDED and spent["calls"]:
            return EndedRunCost(spent["usd"], int(spent["tokens"]))
    return None
