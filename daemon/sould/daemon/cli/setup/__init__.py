"""`sould setup`: connects an editor by editing that editor's own configuration, and takes exactly that back."""
