"""Real parties over gRPC with TLS 1.3: only the driver listens."""
