"""`[verify] policy`: what more than "nothing is lost" a tree's tests have to show."""

from typing import Literal

from orchestrator.domain.judging.check import Difference, Outcomes

Policy = Literal["no-new-failures", "all-green", "same-outcomes"]
_SHOWN = 5


def check_policy(policy: Policy, before: Outcomes | None, now: Outcomes | None, exit_code: int | None) -> Difference:
    """What is wrong with a tree by the policy, beside what it lost against the base.

    Args:
        policy: as the recipe has it.
        before: outcomes on the base; None where the check tells only its exit code.
        now: outcomes on the tree.
        exit_code: how the check ended on the tree.
    """
    match policy:
        case "all-green":
            return _all_green(now, exit_code)
        case "same-outcomes" if before is not None and now is not None:
            return _same(before, now)
    return Difference()


def _all_green(now: Outcomes | None, exit_code: int | None) -> Difference:
    red = tuple(sorted(test for test, outcome in (now or {}).items() if outcome.is_red))
    if red or exit_code == 0:
        return Difference(new_failures=red)
    return Difference(problems=(f"exits with {exit_code}, and policy = 'all-green' lets nothing but 0 land",))


def _same(before: Outcomes, now: Outcomes) -> Difference:
    other = sorted(test for test, outcome in now.items() if before.get(test) != outcome)
    if not other:
        return Difference()
    if len(other) > _SHOWN:
        more = f" and {len(other) - _SHOWN} more"
    else:
        more = ""
    what = ", ".join(f"{test} ({before.get(test, 'new')} → {now[test]})" for test in other[:_SHOWN])
    return Difference(problems=(f"policy = 'same-outcomes' lets no outcome change: {what}{more}",))
