"""Same rows, different columns: the active party, which has the labels, grows trees over everybody's columns.

    active (drives)                              passive (each)
    AskColumns                      ----------->  finds cut points of its own columns
                                    <-----------  OwnColumns: numbers of bins
    BeginSealed(sizes)              ----------->
  every level (of a tree that may cut its columns, see `participants`):
    AskSealedSums(moves, gradients) ----------->  moves its rows, adds up sealed gradients per bin
                                    <-----------  SealedSums, or AllowedSums where a plan bounds the rows of a child
    AskSides(cuts)    to the owners ----------->  keeps the cuts
                                    <-----------  Sides
  every tree:
    EndRound                        ----------->  its part of the tree is complete
  at the end:
    KeepPart(model id, commitment)  ----------->  keeps its part of the model
  (before all this, where rows are not given in one order: `align`)

Sees in the clear.  Active: sums per node, numbered column and bin; the owner of each cut; sides of rows at chosen cuts.
                    Passive: which rows share a node; its own cuts.  Nobody: another's values, thresholds, gradients.
                    (Without encryption a passive party reads every gradient, and with it the labels. With
                    AllowedSums the active party also reads which cuts leave rows enough on both sides, and how many
                    rows each category has at a node: `columns`.)

The active party checks what it is told: sums that the rows of a node cannot have, a chosen cut whose sums are not those
of the rows that go left, a tree that is told otherwise when it is grown again, end the run and name the party
(`answer_checks`).
A passive party checks what it is told: nodes at the lowest level, each summed once and cut once, cuts of its own grid,
rows that go where it said, no more depth, trees or sums than the plan's (`passive_rows`). The
key is new for every tree, so that sums of two trees have nothing in common.
"""
