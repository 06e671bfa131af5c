"""The verbs that tell a run something: approve, deny, pause, continue, retry, cancel, inbox, criterion, stop-call."""
