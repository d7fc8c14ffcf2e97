"""What may run without asking, what must be asked, what is refused."""
