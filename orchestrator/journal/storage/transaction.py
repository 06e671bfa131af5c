"""One SQLite transaction."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def open_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold a transaction: BEGIN IMMEDIATE … COMMIT, or ROLLBACK when something is raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
