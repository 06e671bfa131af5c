"""Install what `[env]` asks for before anybody works on a run: dependencies, and the results of setup commands."""
