"""`python -m orchestrator`, the same as the `orchestrate` command."""

from orchestrator.cli.main import main

if __name__ == "__main__":
    main()
