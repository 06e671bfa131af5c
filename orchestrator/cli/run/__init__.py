"""The verbs that begin, carry on and move runs: run, plan, resume, engine, export, import, replay."""
