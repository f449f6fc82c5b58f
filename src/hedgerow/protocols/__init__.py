"""Both sides of each conversation, a file each."""
