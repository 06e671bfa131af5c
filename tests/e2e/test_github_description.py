"""Our client and the fake forge against GitHub's own description of its API."""

import re
from dataclasses import replace
from pathlib import Path

import anyio
import jsonschema
import pytest

from tests.running.forge import Asked, fake_forge
from tests.running.forge.described import Schemas, description, prism, replayed
from tests.running.forge.routes import ROUTES
from tests.unit.forge.hosting import BRANCH, ahead, client, head, proposable, proposal

pytestmark = [pytest.mark.extended, pytest.mark.registry, pytest.mark.timeout(900)]


@pytest.fixture
def asked(tmp_path: Path) -> list[Asked]:
    return anyio.run(all_there_is, tmp_path)


async def all_there_is(tmp_path: Path) -> list[Asked]:
    """Every kind of request that the client makes, with GitHub's kinds of answers."""
    with fake_forge(proposable(tmp_path)) as forge:
        async with client(forge) as github:
            await github.open_pull_request(proposal(forge, target="", labels=("migration",), draft=True))
            await github.open_pull_request(proposal(forge, title="Best"))
            forge.hosted.check(head(forge), "ci", "success", "fine")
            forge.hosted.status(head(forge), "old", "failure", "broken")
            await github.list_checks("octo/demo#1", head(forge))
            await github.close_pull_request("octo/demo#1", "No.")
            await github.close_pull_request("octo/demo#1", "Not so.")
            ahead(forge)
            second = await github.open_pull_request(proposal(forge))
            await github.merge_pull_request(second.ref, head(forge, BRANCH))
    return forge.asked


def test_every_request_is_one_that_githubs_description_allows(asked: list[Asked]) -> None:
    lines = {request.line for request in asked}
    unasked = [one.path for one in ROUTES if not any(_is_of(one.method, one.path, line) for line in lines)]
    assert unasked == []
    with prism() as port:
        found = [(request.line, *replayed(port, request)) for request in asked]
        opening = next(request for request in asked if request.line == "POST /pulls")
        control = replayed(port, replace(opening, body={"title": "a request without head and base"}))
    wrong = [one for one in found if one[1] >= 400 or one[2]]
    assert wrong == []
    assert (control[0], {one["code"] for one in control[1]}) == (422, {"required"}), "a wrong one is seen"


def test_every_answer_of_the_fake_forge_is_one_that_githubs_description_knows(asked: list[Asked]) -> None:
    schemas = Schemas(description())
    held = 0
    for request in asked:
        schema = schemas.answer(request)
        if schema is not None and request.answer is not None:
            jsonschema.validate(request.answer.value, schema)
            held += 1
    assert held == len(asked)


def _is_of(method: str, path: str, line: str) -> bool:
    asked, _, below = line.partition(" ")
    return asked == method and re.fullmatch(path, below.rstrip("/")) is not None
