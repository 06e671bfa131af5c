"""The command line as a user has it: real processes, real git, real sandbox, in a directory of the test's own."""
