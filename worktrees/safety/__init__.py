"""Guards that keep a hostile repository or worktree from running, hanging or misleading anything of ours."""
