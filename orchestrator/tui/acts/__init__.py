"""What people do from the dashboard: commands to the run's inbox, confirmed where they are dangerous, undoable."""
