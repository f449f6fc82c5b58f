"""Same columns, different rows: the driver grows trees from sums over all parties.

    driver                                       party (each)
    Begin(cut points, trees so far) ----------->  bins its own rows
  every level:
    AskHistograms(cuts, nodes)      ----------->  divides its rows, sums its gradients
                                    <-----------  MaskedSums
  every tree:
    AskLeafSums(cuts, leaves)       ----------->
                                    <-----------  MaskedSums
    FinishRound(values)             ----------->  adds the values to its scores, writes down what it did
                                    <-----------  MaskedSums: the metric on validation rows, gradients cut off
  or, where no metric is followed and all parties take part in every tree:
    NextRound(values)               ----------->  the same, and the sums at the next tree's root at once
                                    <-----------  MaskedSums

Sees in the clear.  Driver: sums over all parties of the tree, per node and bin; the trees.
                    Party: its own rows, the trees.  Nobody: another party's sums (without protection: the driver does).

A party checks what it is told to grow: cuts on the agreed grid, nodes that divide its rows, no more depth or trees than
the plan's. It answers a step of a tree again only if everything it was told is the same.
"""
