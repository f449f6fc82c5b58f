"""Which rows of the active party each passive party knows, found by ids: one passive id may belong to many rows.

    active (drives)                                  passive (each, at the same time, with secrets of its own)
    BeginLink(how many different ids)  ----------->  its ids must be there, each once
                                       <-----------  LinkSize: how many
  ids are a secret (part by part):
    LinkIds(own ids under its secret)  ----------->  blinds them too, in the order in which they came
                                       <-----------  LinkedIds: these; its own ids under its secret, shuffled
  or ids are no secret:
    ShowIds(ids)                       ----------->
                                       <-----------  HeldIds: which of them it has
  then:
    LinkCounts(rows of each id)        ----------->  repeats its own rows as often
                                       <-----------  Done

Sees in the clear.  Active: which of its ids each passive party has; how many ids it has (not where ids are shown).
                    Passive: how many different ids the active party has; which of its own ids are among them, and how
                    many rows each has. Where ids are shown: all ids of the active party.
                    Nobody: an id that is not its own; a passive party anything of another's.

Linked rows stand in the order of their ids, and those of one id as they stand in the active party's table. Both sides
know the linked ids and can sort them, so that nothing need be said or kept: a run that is resumed finds the same order.
Lists travel shuffled, with fresh secrets for every pair, pass and attempt. So of the active party's table a passive
party learns no order, but that rows of one id, when they are told apart later, are told in the order of that table.
"""
