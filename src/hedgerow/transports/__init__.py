"""How frames travel; nothing here knows what a frame says."""
