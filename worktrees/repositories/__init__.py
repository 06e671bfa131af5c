"""The user's repository, how it is found and trusted, and repositories that borrow its objects."""
