"""Clients of every protocol that serve editor tools: what they say of themselves, and how they are asked."""
