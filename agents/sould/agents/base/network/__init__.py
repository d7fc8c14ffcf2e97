"""The network: one HTTP library, and what a session's environment says of proxies and certificates."""
