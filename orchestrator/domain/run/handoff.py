"""The structured report that ends an attempt. What was run is kept apart from what is only believed."""

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel


class Verified(FrozenModel):
    """A claim with the command that was run for it. It is still a claim: never evidence for a verdict."""

    claim: str = Field(description="What now holds.")
    command: str = Field(description="The command you ran that shows it.")


class Handoff(FrozenModel):
    """What a worker or planner leaves to the planner that asked."""

    summary: str = Field(description="What was done, in two or three sentences.")
    done: tuple[str, ...] = Field((), description="Outcomes reached.")
    remaining: tuple[str, ...] = Field((), description="What is still to do, most important first.")
    verified: tuple[Verified, ...] = Field((), description="Claims that you checked by running a command.")
    believed: tuple[str, ...] = Field((), description="Claims that you did not check.")
    deviations: tuple[str, ...] = Field((), description="Where you departed from the task, and why.")
    concerns: tuple[str, ...] = Field((), description="Risks and surprises that others should know.")
