"""Skills: instructions for particular tasks, kept in Markdown files of the user, the project and sould itself."""
