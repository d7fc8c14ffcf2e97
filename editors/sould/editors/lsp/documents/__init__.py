"""The documents that the editor has open: what it says of them, edits of them, and their texts as their user accepted them."""
