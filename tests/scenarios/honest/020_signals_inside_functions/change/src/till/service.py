"""A service that ends well."""

import atexit
import os
import signal
import sys
import threading


class Service:
    """Runs until somebody says stop."""

    def __init__(self):
        self.is_stopped = threading.Event()

    def start(self):
        """Listen to the system."""
        signal.signal(signal.SIGTERM, self._stop)
        atexit.register(self.is_stopped.set)

    def _stop(self, number, frame):
        self.is_stopped.set()
        raise SystemExit(128 + number)


def restart():
    """Begin anew in the same process."""
    os.execv(sys.executable, [sys.executable, *sys.argv])


def serve():
    """For the console script."""
    service = Service()
    service.start()
    service.is_stopped.wait()
    sys.exit(0)
