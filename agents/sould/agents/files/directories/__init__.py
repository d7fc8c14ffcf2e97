"""What a directory holds and what changed in it: looked at, watched, compared; git's view of it; files as bytes."""
