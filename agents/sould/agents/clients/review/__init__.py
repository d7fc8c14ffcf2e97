"""What clients of every protocol share: the projects they review, what they have open, what they ask of a review and are told of it."""
