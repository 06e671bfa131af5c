"""Steps that ask a model, and people: what they are shown, and what becomes of what they wrote."""
