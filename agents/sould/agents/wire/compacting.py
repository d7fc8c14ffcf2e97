"""The two messages of a compaction, as Wire has them and with keys of our own (D26)."""

from sould.agents.wire.extensions import Message


class CompactionBegin(Message):
    """Compaction starts; no step runs until `CompactionEnd`. Between steps or turns only."""

    compaction_id: str = ""


class CompactionEnd(Message):
    """The context now is `summary`, the earlier messages at the positions `also_kept`, and the last `kept` messages.

    Positions count from 0 in the context as it was. `note` says in a sentence what was kept. All keys are ours (D26).
    `failed`: the context is as before; `cancelled`: because somebody wanted it so.
    """

    compaction_id: str = ""
    summary: str = ""
    kept: int = 0
    also_kept: tuple[int, ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0
    strategy: str = ""
    note: str = ""
    failed: bool = False
    cancelled: bool = False
    error: str = ""
