"""Commands to the run's inbox: built from what is selected or typed, confirmed where dangerous, undoable at first."""
