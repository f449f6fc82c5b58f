"""Files that survive: written whole or not at all, append-only, and chained as an audit log."""
