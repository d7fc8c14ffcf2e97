"""What every frontend shares: the methods below `_sould/`, and what a connection leaves to the next daemon."""
