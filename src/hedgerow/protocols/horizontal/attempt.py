"""What every attempt at a run over the same columns begins and ends with: an agreement on columns, and the model.

`columns` and `private_columns` have the conversation and who sees what.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hedgerow.corridor.messages import Agree, Done, Facts, Farewell
from hedgerow.errors import PartyLost
from hedgerow.model.file import encoded
from hedgerow.model.model import Model
from hedgerow.protocols import columns, dropped_columns, private_columns
from hedgerow.protocols.columns import Common
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Progress


def attempt(
    progress: Progress, group: SummingGroup, facts: Mapping[str, Facts], train: Callable[[Common], Model]
) -> Model:
    """The model that is trained on what all have in common; every party has it when this returns."""
    driver = progress.driver
    if driver.plan.method.private_names:
        facts = private_columns.shared(group, facts, progress.state.common, driver.log, driver.tell, driver.note)
    shared = _agreed(progress, facts)
    group.tell(Agree(shared.columns, shared.classes, shared.absent), Done)
    progress.state = replace(progress.state, common=shared)
    model = train(shared)
    try:
        group.tell(Farewell(encoded(model)), Done)
    except PartyLost as loss:
        if not driver.plan.goes_on:
            raise
        driver.tell(f"{loss} The others have the model.")
    return model


def _agreed(progress: Progress, facts: Mapping[str, Facts]) -> Common:
    """What all have in common; the driver is told what is left out, also where that is refused."""
    driver, plan, lost = progress.driver, progress.driver.plan, ""
    if not plan.method.all_columns and not plan.method.private_names:
        lost = dropped_columns.told_driver(columns.names_of(facts))
    if lost and plan.coordinator:  # a refusal, which real parties hear, names no column
        driver.note(lost)
    shared = progress.state.common or columns.common(plan, facts)
    if lost and not plan.coordinator:
        driver.note(lost)
    return shared
