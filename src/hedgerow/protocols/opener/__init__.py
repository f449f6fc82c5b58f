"""Sums over all parties that one named party opens: the driver adds what is sealed and passes on what the opener says.

    driver                                    opener (a party)              party (each, the opener too)
    Lead                        ----------->
                                <-----------  ToEveryParty(request, public key, signature)
    FromOpener(request, key)    ----------------------------------------->  checks the signature, sums, seals
                                <-----------------------------------------  SealedWords
    adds them up, hides them
    PassSum(sealed sum)         ----------->  opens it, chooses
                                <-----------  ToEveryParty(the next request), and so on
  every tree:
                                <-----------  RoundGrown(trees)
    GoOn                        ----------->
  at the end:
                                <-----------  Led

Requests are those of `cut_points` and `horizontal`: the opener does the driver's work (`leader`), and the driver
carries and keeps.

Sees in the clear.  Driver: the requests, so prefixes, cut points, cuts, leaf values; the metric, the trees; no sum.
                    Opener: the sums over all parties of the request (of two parties, the other's).
                    Party: its own rows, the requests, the trees.
                    Opener and driver together: every party's sums.  The others together: nothing more than each alone.

The key is new for every tree and its secret half never leaves the opener. Each request is signed by it with the
certificate that the plan names, so that the driver can neither put its own key in place nor choose other cuts.
"""
