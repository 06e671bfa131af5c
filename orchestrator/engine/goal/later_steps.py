"""The steps of a goal that nothing needs before a model has been asked: verifying, judging, choosing and landing.

With their rooms they are a tenth of what an engine loads; a run loads them while its first model thinks.
"""

from orchestrator.engine.goal.landing import land_tasks
from orchestrator.engine.goal.rival_choice import choose_rival
from orchestrator.engine.judging.attempt_verdict import judge_attempt
from orchestrator.engine.verification.task_verification import verify_task
from orchestrator.queue.trial_pool import TrialPool

__all__ = ["TrialPool", "choose_rival", "judge_attempt", "land_tasks", "verify_task"]
