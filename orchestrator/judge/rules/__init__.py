"""The rules on a change that need no test run, one module each; the registry runs them."""
