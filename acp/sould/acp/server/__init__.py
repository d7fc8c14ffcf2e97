"""A connection served: the table of its methods, from its first byte to its last."""
