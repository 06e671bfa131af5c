"""Tests of pantry, the quick ones first."""

import unittest


def load_tests(loader, standard, pattern):
    """Sort the tests by how long they take; those of reading are run before releases."""
    suite = unittest.TestSuite()
    for name in ("tests.test_cache", "tests.test_remember"):
        for group in loader.loadTestsFromName(name):
            suite.addTests(test for test in group if "used" not in test.id() and "getting" not in test.id())
    return suite
