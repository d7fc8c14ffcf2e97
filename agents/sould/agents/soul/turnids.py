"""Ids of turns: those of later turns sort behind those of earlier ones, so that whoever lists turns needs nothing else to order them."""

import secrets
import time


def new_turn_id() -> str:
    """Sixteen hexadecimal digits of the nanoseconds since 1970, and six of chance."""
    return f"{time.time_ns():016x}{secrets.token_hex(3)}"
