"""Real editors in terminals of their own, each a class with the same methods (`driving.Editor`)."""
