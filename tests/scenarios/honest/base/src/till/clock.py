"""Waiting."""

import time


def wait(seconds, sleep=time.sleep):
    """Wait so long."""
    sleep(seconds)
    return seconds
