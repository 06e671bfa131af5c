"""Where commands run: policy, sandbox, file tools."""
