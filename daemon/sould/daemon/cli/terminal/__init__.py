"""What commands use of a terminal: keys, pages, screenfuls, forms, an editor. Knows no daemon and no command."""
