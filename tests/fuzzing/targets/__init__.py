"""Every kind of input that there is a target for."""

from tests.fuzzing.target import Target
from tests.fuzzing.targets import (
    archives,
    command_lines,
    forge_events,
    journals,
    model_replies,
    outputs,
    recipes,
    scripts,
    settings,
)

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        outputs.TARGET,
        settings.TARGET,
        recipes.TARGET,
        scripts.TARGET,
        scripts.PLAYED,
        forge_events.TARGET,
        model_replies.TARGET,
        command_lines.TARGET,
        command_lines.WORKING,
        journals.TARGET,
        journals.RESUMED,
        archives.TARGET,
        archives.HANDOVERS,
    )
}
