"""The verbs that tell a run something: approve, send-back, reject, pause, continue, retry, cancel, inbox, …."""
