"""Git's objects without a worktree: reading and writing blobs and trees, merging, packs and bundles."""
