"""What a party of a finished run leaves in its folder: curves of its own rows where it has the model, the manifest."""

from collections.abc import Sequence

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.model import file as models
from hedgerow.run.folder import manifest
from hedgerow.run.folder.folder import MODEL, RunFolder
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options
from hedgerow.run.real.own_curves import keep_own_curves


def keep_end(
    folder: RunFolder, plan: Plan, kept: tuple[str, bytes], own: tuple[Table, Table | None], notes: Sequence[str],
    options: Options,
) -> None:  # fmt: skip
    """Write everything down, the manifest last; `kept` is the file and the content that the driver had it keep."""
    file, content = kept
    if file == MODEL:
        keep_own_curves(folder, content, *own, options.say, options.threads)
    beside = {"leaks": list(leaks(plan)), "notes": list(notes), **manifest.given(folder.log.lines())}
    beside |= manifest.linked_at(plan)
    if file == MODEL and plan.method.promises_dp:
        beside |= manifest.promised(models.decoded(content, "The model that came").promise)
    folder.finish({file: content}, beside)
