"""Planner, worker and judge: render the prompt, run the loop, turn the reply into a domain type."""
