"""A connection to the control frontend, with its failures as the command line says them."""

from collections.abc import Generator
from contextlib import contextmanager

from sould.daemon.cli.client import ControlClient, ControlError, NotRunningError
from sould.daemon.cli.output import TEMPORARY, CommandError
from sould.daemon.dial import BridgeError

ANSWER_S = 30.0
"""How long an answer may take that needs no patience."""
NOT_FOUND = "session_not_found"


@contextmanager
def running(*, patient: bool = False, opens: bool = False) -> Generator[ControlClient]:
    """The daemon, started when it is not running. What it refuses becomes a `CommandError`.

    `patient`: an answer may take as long as it takes; `opens`: see `ControlClient.connect`.

    Raises:
        CommandError: it cannot be reached, or it refused; with the sentence to show.
    """
    with reached(), ControlClient.connect(start=True, timeout=None if patient else ANSWER_S, opens=opens) as client:
        yield client


@contextmanager
def reached() -> Generator[None]:
    """Turn the errors of a connection into failures; `NotRunningError` is left to the caller."""
    try:
        yield
    except NotRunningError:
        raise
    except ControlError as error:
        hint = " See: sould sessions list --all" if error.kind == NOT_FOUND else ""
        raise CommandError(f"{error}{hint}") from None
    except BridgeError as error:
        raise CommandError(f"{error}", TEMPORARY) from None


def tell_configured() -> None:
    """A running daemon reads what the user configured anew (D23); it need not run."""
    try:
        with reached(), ControlClient.connect() as daemon:
            daemon.reload()
    except NotRunningError:
        pass
