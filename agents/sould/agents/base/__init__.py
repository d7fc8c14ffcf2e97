"""What every package stands on and what knows no agent: files, locks, watches, settings, text, child processes."""
