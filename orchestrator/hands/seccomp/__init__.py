"""System call rules, the BPF filter that bubblewrap installs, and the seccomp profile of container engines."""
