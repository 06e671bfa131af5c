"""Learn from recorded runs: which prompts and variants lead to work that is sent back, and what would mend them."""
