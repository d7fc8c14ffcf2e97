"""`python -m sould`: the same program as the `sould` script."""

from sould.daemon.bridge import bridge

bridge()  # does not return when an editor starts a frontend
from sould.daemon.cli.main import main  # noqa: E402 -- the bridge has no time for it

main()
