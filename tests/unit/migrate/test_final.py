"""Which of several shards in a row brought what is red."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.migrate.run.runner import find_first_red


@given(st.integers(1, 200), st.data())
async def test_the_first_red_one_is_found_in_few_questions(count: int, data: st.DataObject) -> None:
    guilty = data.draw(st.integers(0, count - 1))
    asked: list[int] = []

    async def is_red(number: int) -> bool:
        asked.append(number)
        return number >= guilty

    assert await find_first_red(range(count), is_red) == guilty
    assert len(asked) <= (count - 1).bit_length()


async def test_without_any_there_is_none() -> None:
    async def is_red(_: int) -> bool:
        raise AssertionError

    assert await find_first_red([], is_red) is None
