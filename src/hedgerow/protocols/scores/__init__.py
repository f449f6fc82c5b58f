"""Sealed prediction: the active party learns scores in one round, and nobody learns the way of a row.

    active (drives)                              passive (each)
    Propose(plan, model's id)  ------------->    checks it by its owner's policy and by its part
                               <-------------    Consent
  where one of several parties speaks for a row, first:
    AskKnown(ids)              ------------->    of these parties: counts and looks for the rows (`speakers`)
                               <-------------    Known
    BeginScores(slots, key)    ------------->    checks that slots are of its own cuts, makes secrets with the others
                               <-------------    ScoresReady
  for every batch of rows, once:
    AskScores(ids, sealed weights) --------->    counts the answers in its owner's ledger,
                               <-------------    Scores: one sealed sum a row, of the weights that its own cuts choose

Who shares columns with others, or has subtrees of its own, is asked about the rows that it speaks for, all others about
every row; a row's answers open together, in a session of those that are asked about it (`sessions`).
`model.score_slots` says what the weights are. Parties are asked at the same time, but for those to which others' sums
go on: the active party opens these, which are uniform under pads that it lacks, and seals them
for the next.

Sees in the clear.  Active: the score of every row and class, and if asked for, contributions of columns.
                    Passive: the ids of all rows, the slots of its own cuts.
                    Active and the next of a relay together: what the one before chose in trees that both cut; if the
                    active party makes slots up, all that it chose.
                    Nobody: the way of a row, another's values or thresholds; which rows a party has, unless one
                    speaks for each row: then the active party, and of rows that two have the one that is not asked.
"""
