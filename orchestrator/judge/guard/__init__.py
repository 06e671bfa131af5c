"""The guard of a gate's test runner: it holds the outcomes outside of the process in which the tests run."""
