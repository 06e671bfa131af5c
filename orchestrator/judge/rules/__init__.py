"""The rules on a change that need no test run; the registry runs them."""
