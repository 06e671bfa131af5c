"""The verbs for a machine and a project: init, config, doctor, hands, demo, gc, repair."""
