"""Conversations that other agents keep on this machine: found, and read into one shape. Nothing of theirs is ever changed."""
