"""Commands and servers started for sessions: one guard process per daemon ends everything it started, come what may."""
