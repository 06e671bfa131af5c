"""Reach providers through litellm: messages out, replies, costs and errors in, with bounds on what is received."""
