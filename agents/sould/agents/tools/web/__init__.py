"""Reaching the web for tools: pages and searches, within limits and never into the private network unasked."""
