"""The Wire frontend: programs drive one session over JSON-RPC lines, as they drove the reference implementation."""
