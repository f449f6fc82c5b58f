"""Which rows all parties of a vertical run have, found by their ids, which nobody shows.

    active (drives)                                 passive (each; the active party does the same by itself)
    AskSetSize(hash of common rows)   ----------->  a fresh secret; ids must be there, each once
                                      <-----------  SetSize: how many, and whether the hash is right
    BeginBlinding(sizes of all)       ----------->
    AskBlinded(its own ids)           ----------->  hashes and blinds a part of them, in an order drawn at random
                                      <-----------  BlindedIds
  then every list goes once round the ring of parties:
    BlindIds(a part of the list)      ----------->  blinds it
                                      <-----------  Done
    AskBlinded(the list)              ----------->  shuffles it
                                      <-----------  BlindedIds
  all lists have passed all secrets: the active party marks what is in all of them, and the marks go back:
    MarkCommon(places in the list)    ----------->  undoes its shuffle; of its own list, it keeps these rows
                                      <-----------  Marks

Sees in the clear.  Active: how many rows everyone has, how many any parties share, which of its own rows all have.
                    Passive: how many rows everyone has, how many all share, which of its own rows these are.
                    Nobody: an id that is not its own, or whether a party has a row that not all have.
                    (Of two parties, all is both: each learns which of its rows the other has.)

Rows are kept in the order of their ids: everybody who has them can sort them so, nothing need be said, it tells nothing
of anybody's table, and a run that is resumed finds the same order. Lists are shuffled at every party, so that their
places tell nothing either. A party answers each step once; a list is as long as was said at the beginning.
"""
