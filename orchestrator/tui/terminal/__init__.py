"""The user's terminal: line filters, bell and notifications, clipboard, lending it to other programs, stream mode."""
