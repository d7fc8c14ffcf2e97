"""Agents in the editor: which session a prompt goes to, its turns as progress, and what it asks."""
