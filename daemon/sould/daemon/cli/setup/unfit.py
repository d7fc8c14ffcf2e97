"""Why something cannot be set up, in words that end a sentence."""


class UnfitError(Exception):
    """Nothing was changed. The text is a clause without a full stop, which comes behind the editor's name and a colon."""
