"""Chat providers: how a model is asked, and what can go wrong."""
