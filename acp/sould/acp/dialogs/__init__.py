"""What a client's user is asked: permissions and questions, as buttons, as a form or in words."""
