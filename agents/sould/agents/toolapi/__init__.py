"""What a tool is: its base class, its results, how it is loaded, checked and called."""
