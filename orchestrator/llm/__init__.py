"""Reaching models: litellm, the scripted model, retries."""
