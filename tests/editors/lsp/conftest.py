"""Editors in memory; here, because the protocol's types are slow to load."""

from functools import partial

import pytest

from soultest.bench import Bench
from soultest.bench.lsp import ConnectEditor, editor_connected


@pytest.fixture
def connect_editor(bench: Bench) -> ConnectEditor:
    """Connects LSP editors to the bench's host, in memory."""
    return partial(editor_connected, bench)
