"""What can be worked out from a public view; nothing here knows a hidden value."""
