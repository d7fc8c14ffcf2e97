"""What a client is shown: Wire records as updates. Pure: nothing here writes, asks or waits, but may know what was shown."""
