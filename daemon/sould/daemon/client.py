"""A blocking client of the control face, for the command line.

    with ControlClient.connect() as daemon:          # NotRunningError when nobody listens
        status = daemon.status()

`connect(start=True)` starts the daemon when it is not running, exactly as a bridge does. Every call raises
`ControlError(message, kind)` with a sentence fit for a user. Must stay free of asyncio and of the session code: the
command line imports it at start.
"""
