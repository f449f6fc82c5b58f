"""An auditor's checks of an opened session: whether what was sealed is what the active party had committed to.

The auditor is trusted with the active party's model, and reads one passive party's part and log. Four things are
checked: the leaf values are those of the commitment in the part; the requests that the party answered by its log are
here, and signed by the active party; the key is the secret half of the session's; the weights that were sealed are such
as the model can have (`model.score_ways`). Sums that came from other passive parties and were sealed again are noise to
everybody, and are not checked.

Sees in the clear.  The auditor: the leaf values, the ids that were asked about, and which weights each row's slots had,
                    so what they tell of the active party's own values.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskScores
from hedgerow.errors import AuditError, CipherError, ModelError, PrivacyError, ProtocolError
from hedgerow.model.commitment import Commitment, Opening, check_opening
from hedgerow.model.fixed_scores import FixedScores, fixed_scores
from hedgerow.model.model import Model
from hedgerow.model.part import Part, joined
from hedgerow.privacy.shapes import score_modulus
from hedgerow.protocols.scores.choices import sealed_method
from hedgerow.protocols.scores.layout import Layout, placed
from hedgerow.protocols.scores.opening_log import answered
from hedgerow.protocols.scores.opening_weights import LeafWeights, OpenedTables
from hedgerow.protocols.scores.openings import SessionOpening


@dataclass(frozen=True, eq=False)
class Evidence:
    """What an opening is compared with."""

    model: Model
    """The active party's."""
    leaves: Opening
    """The opening of its commitment, by the salt that the active party kept."""
    part: Part
    """The passive party's."""
    log: Iterable[Mapping[str, Any]]
    """The lines of the passive party's log."""


@dataclass(frozen=True)
class Audited:
    """An opening that holds: what was looked at."""

    batches: int
    rows: int
    unanswered: int
    """Requests that the passive party did not answer, by its log."""
    unchecked: int
    """Weights of a row that are other parties' sums, and cannot be checked."""


def check(opened: SessionOpening, evidence: Evidence, threads: int = 1) -> Audited:
    """Refuse an opening of which one check fails, with an AuditError that says which, and for how many rows."""
    try:
        plan = Plan.read(opened.head.plan)
        fixed = _leaves(plan, evidence)
        party, names = evidence.part.party, opened.head.names
        if party not in names:
            raise AuditError(f"The session did not ask {party!r}, whose part this is.")
        layout, number = Layout.of(evidence.model, names, fixed.n_classes), names.index(party)
        requests = answered(plan, opened, party, layout.told[number], evidence.log)
        cipher, public = cipher_of(plan), opened.head.public_key
        key = cipher.revealed_key(opened.key, public, threads)
        leaves = LeafWeights(placed(evidence.model, fixed), sealed_method(plan).modulus)
        tables = OpenedTables(layout, number, leaves, cipher.read_public_key(public, threads), key)
        check_weights(tables, requests)
    except (PrivacyError, CipherError, ModelError, ProtocolError) as error:
        raise AuditError(str(error)) from None
    asked = sum(name == party for name, _ in opened.requests)
    rows = sum(len(request.ids) for request in requests)
    return Audited(len(requests), rows, asked - len(requests), tables.unchecked)


def _leaves(plan: Plan, evidence: Evidence) -> FixedScores:
    """The leaf values that the active party committed to, and that this session's plan is of."""
    model, part = evidence.model, evidence.part
    if part.commitment is None:
        raise AuditError("The part has no commitment to leaf values, as parts of older versions: nothing binds them.")
    check_opening(Commitment(part.model, part.commitment), evidence.leaves)
    joined(model, {part.party: part})  # refuses trees that are not those of the part
    fixed, method = fixed_scores(model, evidence.leaves.bits), sealed_method(plan)
    if (method.model, method.modulus) != (part.model, score_modulus(fixed.reach)):
        raise AuditError(
            f"The session's plan is of another model, or of scores of other than the {fixed.bits} bits in which leaf "
            "values were committed to."
        )
    return fixed


def check_weights(tables: OpenedTables, requests: Sequence[AskScores]) -> None:
    """Refuse requests in which a row has weights that the committed leaf values do not allow."""
    wrong = {request.batch: int(tables.wrong(request).sum()) for request in requests}
    rows, n = sum(wrong.values()), sum(len(request.ids) for request in requests)
    if rows:
        first = min(batch for batch, found in wrong.items() if found)
        raise AuditError(
            f"The sealed weights of {rows} of {n} rows, the first in batch {first}, are none that the committed leaf "
            "values allow."
        )
