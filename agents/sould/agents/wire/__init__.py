"""Wire 1.10: messages, requests, content, display blocks, and how streamed pieces merge."""
