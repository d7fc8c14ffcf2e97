"""`sould run`: one prompt of a client in this terminal, its questions asked here, its answer rendered as it comes."""
