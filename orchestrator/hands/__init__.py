"""Running commands: policy, sandboxes and file tools."""
