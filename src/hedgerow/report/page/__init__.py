"""The report of a run as one HTML page that needs no other file and no network."""
