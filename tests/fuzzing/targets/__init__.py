"""Every kind of input that there is a target for."""

from tests.fuzzing.target import Target, batch_inputs
from tests.fuzzing.targets import (
    archives,
    command_lines,
    forge_events,
    journals,
    model_replies,
    outputs,
    policies,
    recipes,
    scripts,
    settings,
)

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        batch_inputs(outputs.TARGET, 10),
        batch_inputs(settings.TARGET, 5),
        batch_inputs(policies.TARGET, 5),
        recipes.TARGET,
        batch_inputs(scripts.TARGET, 10),
        scripts.PLAYED,
        batch_inputs(forge_events.TARGET, 5),
        batch_inputs(model_replies.TARGET, 10),
        command_lines.TARGET,
        command_lines.WORKING,
        journals.TARGET,
        journals.RESUMED,
        archives.TARGET,
        archives.HANDOVERS,
    )
}
