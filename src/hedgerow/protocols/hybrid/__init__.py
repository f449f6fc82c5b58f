"""Some rows and some columns: passive parties with the same columns grow one subtree, and only totals are opened.

    active (drives)                              passive (each)
  rows are linked with each party by itself (`link`); a row that several have is asked of one of them
    Agree(columns)                  ----------->  has the same columns
    AskCounts(prefixes)             ----------->  (about ten times)
                                    <-----------  MaskedSums: linked rows per prefix
    ShareColumns(cut points)        ----------->  bins its linked rows
    then as in `vertical`, but that every answer is a part of a total:
    AskSealedSums(moves, gradients of its rows)
                                    ----------->  adds up sealed gradients per bin, and its pads
                                    <-----------  SealedSums: noise but in total
    AskSides(cuts)                  ----------->
                                    <-----------  Sides of its rows

Sees in the clear.  Active: which rows each party has; names of the shared columns, their cut points, numbers of linked
                    rows per prefix over all passive parties; sums per node, column and bin over all passive parties;
                    sides of rows at chosen cuts.  With all passive parties but one it could compute that one's sums.
                    Passive: names, categories and cut points of the shared columns; which of its own linked rows share
                    a node; all cuts of the shared columns.  Nobody: another's values, gradients, parts of sums.

Pads are uniform modulo the whole plaintext, because the active party can open each part. A pad's key depends on the
pair of parties, the plan, the attempt and everything that all parties are told alike of a step, and is used once.

Where the plan draws the cuts of passive columns (`vertical.drawn_active`), no sums are asked for and nothing is sealed.

Checks of sums (`vertical.answer_checks`) are of totals: they cannot tell which of the parties made its part up.
"""
