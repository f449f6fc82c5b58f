"""What may be said between parties: the messages, their bytes, and the one verb that carries them."""
