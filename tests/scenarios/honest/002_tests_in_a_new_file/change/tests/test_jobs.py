import unittest
from unittest import mock

from till.jobs import run


class RunTest(unittest.TestCase):
    def setUp(self):
        self.work = mock.Mock(return_value=3)

    def test_work_is_done_once(self):
        self.assertEqual(run(self.work), 3)
        self.work.assert_called_once_with()
