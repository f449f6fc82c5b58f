"""What a run keeps on disk: its folder, manifest, checkpoint, private state, the owner's ledger."""
