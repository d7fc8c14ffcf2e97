"""One connection from its first byte to its last: `initialize`, what the editor is and wants, and going on after a restart."""
