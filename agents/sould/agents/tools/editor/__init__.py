"""Editor tools: what only an editor or a language server knows, declared once and asked of whoever can say it."""
