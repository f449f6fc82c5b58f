"""Folders to start a run of real parties from: one for each, with what it needs and a page that says what to do."""
