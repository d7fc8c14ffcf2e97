"""The base of what is sent to clients, and read of language servers and editors, as JSON. Imports nothing but msgspec."""

from msgspec import Struct


class Shape(Struct, frozen=True, rename="camel", omit_defaults=True):
    """camelCase outside, unknown fields ignored, what is as by default left out."""
