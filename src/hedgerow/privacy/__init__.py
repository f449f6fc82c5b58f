"""Mathematics of hiding. Silent: nothing here knows a party, a channel or a tree."""
