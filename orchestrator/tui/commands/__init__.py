"""Commands to the run's inbox: built from what is selected or typed, confirmed where dangerous, undoable for some seconds."""
