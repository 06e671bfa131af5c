"""Limits that somebody set at a provider and that leave workers without a call: said at the start and by `doctor`."""

from dataclasses import dataclass

from orchestrator.config.model import Config
from orchestrator.domain.text.listing import format_count
from orchestrator.project.options import build_provider_rules


@dataclass(frozen=True)
class NarrowLimit:
    """A provider at which fewer calls may be under way than there may be workers; `setting` bounds them."""

    key: str
    calls: int
    workers: int
    setting: str

    @property
    def text(self) -> str:
        """The limit in words, with the way out."""
        return (
            f"{self.workers} workers may be at work (run.max_workers), but at {self.key} only "
            f"{format_count(self.calls, 'call')} of workers may be under way: {self.setting} bounds them; "
            "set it to 0, and it follows run.max_workers"
        )


def find_narrow_limits(config: Config) -> tuple[NarrowLimit, ...]:
    """Return the providers of the workers' models at which a limit that was set is below the number of workers."""
    rules, worker = build_provider_rules(config), config.roles.worker
    found: dict[str, NarrowLimit] = {}
    for settings in (worker, *worker.variants.values()):
        key = rules.get_limits_key(settings.model, settings.api_base or None)
        limits = rules.get_limits(key)
        calls = limits.get_share(limits.concurrency, is_judge=False)
        if settings.model and calls < config.run.max_workers:
            setting = f"retry.concurrency = {config.retry.concurrency}"
            if own := rules.get_settings(key).concurrency:
                setting = f'concurrency = {own} under [providers."{key}"]'
            found[key] = NarrowLimit(key, calls, config.run.max_workers, setting)
    return tuple(found.values())
