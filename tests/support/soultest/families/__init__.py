"""Model servers as strict as those that people use."""
