"""The refusal to run without a sandbox in CI."""

from collections.abc import Mapping

from orchestrator.errors import UsageProblem


def refuse_in_ci(environ: Mapping[str, str]) -> None:
    """Raise UsageProblem where the variable CI says that nobody watches."""
    if environ.get("CI", "").lower() not in ("", "0", "false"):
        raise UsageProblem(
            "--unsafe-no-sandbox is refused in CI (the variable CI is set): nobody watches there, and the credentials "
            "of the whole job would lie open; make a sandbox work instead, see docs/sandbox.md"
        )
