"""Hunks in the editor: lines above them, code actions, hints, and the decisions of its user."""
