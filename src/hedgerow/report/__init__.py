"""What a person looks at: trees as text and as pictures."""
