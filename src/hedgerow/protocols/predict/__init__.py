"""Prediction over a vertical model: the active party sends its rows down the trees, asking the owner of each cut.

    active (drives)                          passive (each)
    Propose(plan, model's id)  ----------->  checks it by its owner's policy and by its part
                               <-----------  Consent
    AskKnown(ids)              ----------->  looks for the rows in its own table
                               <-----------  Known
  once for cuts of one owner that follow each other, for all rows and all trees:
    AskWays(cuts, rows)  to the owners --->  compares its own values with its own thresholds, cut after cut
                               <-----------  Sides

Sees in the clear.  Active: the path of every row through every tree, and which rows a party has.
                    Passive: the ids of all rows, and which of them come to which of its own cuts.
                    Nobody: another's values, thresholds or leaf values.

Cuts of its own columns the active party takes by itself, so that a path is asked about only where it meets another
party's. Where further cuts of the same owner follow directly, the owner takes the row down these too (`runs`); for
columns that passive parties share it is the party that speaks for the row. So a level at which passive parties' columns
are cut costs an exchange at most, and levels of one owner that follow each other cost one together. A row that a party
does not have goes the default way at that party's cuts: the learned direction of missing values, left if none was
learnt. A great many rows go in batches, so that messages stay small.

A passive party (`passive`) checks that cuts are its own, that rows are ones it was asked about and has, and that each
cut is the next of its own after what it told of the row in that tree; of the cuts that are said to follow, that each is
the next below another, and that no two follow at one end, as cuts do that lie apart below another party's. So an active
party that cheats learns one path of a tree each time that it names a row; which one, it chooses at its own cuts. Where
the owner was never told its nodes (hidden rows), and with parts of older versions, it is asked cut by cut, and an
active party that cheats can ask about all of a party's cuts.

Several active parties' models are asked about together, in as many exchanges as one (`several_models`).
"""
