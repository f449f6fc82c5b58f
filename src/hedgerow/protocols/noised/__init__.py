"""Same columns, different rows, with differential privacy: trees of public shapes, grown from sums with noise.

    driver                                     party (each)
    AskNoisedCounts(no prefixes)  ----------->  counts its rows, adds its share of the noise, masks
                                  <-----------  NoisedSums
  up to three levels:
    AskNoisedCounts(prefixes)     ----------->  the same of rows per prefix of an ordered key
                                  <-----------  NoisedSums
    BeginNoised(rows, cut points) ----------->  works out from the rows, as everybody does, what is still released
  a round:
    AskNoisedSums(scores)         ----------->  scores its rows by what is told, sums their clipped gradients per bin
                                  <-----------  NoisedSums, of all columns or of the leaves of a drawn tree
    Farewell(model)               ----------->  forgets the words it kept

Sees in the clear.  Driver: sums over all parties with all parties' noise in them; so everything it says, and the model,
                    is made of noised sums alone. Party: its own rows, what the driver says.
                    So many parties as the plan calls colluders, together with the driver: sums with the noise of the
                    others, which is as much as the promise needs. Nobody: a sum without noise, or one party's part.

A party trusts nobody with the noise: it works out from the plan, the agreed columns and the noised number of rows which
sums are released and how noisy each has to be, gives each once, and enters it in its ledger before it leaves. Asked for
the same again, by the very same request, it sends the words that it kept, under new pads; asked for anything else, it
stops. What the driver tells between releases cannot make a row count for more, whatever it is: gradients are clipped,
and cut points put each row into one bin of a column.
"""
