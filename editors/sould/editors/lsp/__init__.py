"""`sould lsp`: the review, and agents, in any editor that speaks the language server protocol."""
