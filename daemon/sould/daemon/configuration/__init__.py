"""The configuration file and the keys of providers."""
