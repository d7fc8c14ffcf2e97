"""Both ways of being told of folders, for tests that are to hold with each."""

import sys
from typing import Final

import pytest

from sould.agents.files.directories.folderevents import InotifyEvents
from sould.agents.files.directories.rareevents import WatchfilesEvents

STEP: Final = 0.05
"""Seconds; a daemon takes longer ones."""
WATCHERS: Final = (
    pytest.param(
        InotifyEvents, id="inotify", marks=pytest.mark.skipif(sys.platform != "linux", reason="there is no inotify")
    ),
    pytest.param(lambda: WatchfilesEvents(STEP), id="watchfiles"),
)
"""`FolderEvents`, to be made in a test."""
