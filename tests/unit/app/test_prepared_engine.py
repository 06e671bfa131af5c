"""An engine that is prepared before its run: it gets the run, or is gone without a trace."""

import os
from io import BytesIO
from pathlib import Path

import pytest

from orchestrator.config.layers import load_config
from orchestrator.errors import UsageProblem
from orchestrator.run_control.prepared_engine import EngineOrders, PreparedEngine, read_orders
from roles.configured_models import needs_providers


def test_orders_arrive_line_by_line_until_nobody_is_there_any_more() -> None:
    stream = BytesIO(b'{"loads_models": true}\n{"run": "r1", "log": "/l"}\n')
    assert read_orders(stream) == EngineOrders(loads_models=True)
    assert read_orders(stream) == EngineOrders(run="r1", log="/l")
    assert read_orders(stream) is None


@pytest.mark.parametrize("line", [b"resume\n", b"[1]\n", b'{"runs": "r1"}\n'])
def test_other_words_than_orders_are_refused(line: bytes) -> None:
    with pytest.raises(UsageProblem, match="name the run"):
        read_orders(BytesIO(line))


def test_an_engine_that_gets_no_run_is_gone_at_the_end(tmp_path: Path) -> None:
    with PreparedEngine(tmp_path, str(tmp_path / "state")) as engine:
        process = engine._process
        assert process is not None
    assert process.returncode is not None
    assert not (tmp_path / "state").exists()


def test_an_engine_that_has_ended_leaves_its_run_to_another_one(tmp_path: Path) -> None:
    with PreparedEngine(tmp_path, "") as engine:
        assert engine._process is not None
        os.kill(engine._process.pid, 9)
        engine._process.wait()
        engine.load_models()
        assert engine.hand_over_run(EngineOrders(run="r1")) is None


@pytest.mark.parametrize(("model", "needs"), [("", False), ("scripted:a.json", False), ("openai/gpt-5", True)])
def test_only_models_of_providers_have_their_library_loaded_early(model: str, needs: bool) -> None:
    config = load_config(None, {"roles": {"default": {"model": model}}}).config
    assert needs_providers(config.roles) is needs
