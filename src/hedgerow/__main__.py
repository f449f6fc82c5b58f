"""`python -m hedgerow` is the command line."""

from hedgerow.cli import main

main()
