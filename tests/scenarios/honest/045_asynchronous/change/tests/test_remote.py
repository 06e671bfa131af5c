import asyncio
import unittest

from till.remote import fetch


async def ask(name):
    await asyncio.sleep(0)
    return len(name)


class FetchTest(unittest.IsolatedAsyncioTestCase):
    async def test_all_are_asked(self):
        self.assertEqual(await fetch(["apple", "fig"], ask), {"apple": 5, "fig": 3})


def test_without_a_test_case():
    assert asyncio.run(fetch([], ask)) == {}
