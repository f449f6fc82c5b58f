"""An explanation as files in a folder: a page that needs no other file, its pictures, and lists as CSV."""

from pathlib import Path

from hedgerow.errors import ParameterError
from hedgerow.model.file import write_whole
from hedgerow.report.explain import Explanation
from hedgerow.report.explain_page import columns_csv, page, reasons_csv
from hedgerow.report.pictures.canvas import check_suffix, save_picture
from hedgerow.report.pictures.effects import effect_picture, used_picture

PAGE = "explanation.html"
MOST_PICTURES = 12


def check_folder(folder: Path) -> None:
    """Refuse a place where no folder can be, or pictures that cannot be drawn, before any work is done."""
    check_suffix(folder / "importances.png")
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"Cannot write into {folder}: it is not a folder; name another.")
    if not folder.parent.is_dir():
        raise ParameterError(f"Cannot make the folder {folder}: {folder.parent} does not exist; create it first.")


def write_explanation(explanation: Explanation, folder: Path) -> Path:
    """Write all files, each whole or not at all, and tell where the page is; effects of the first columns are drawn."""
    folder.mkdir(exist_ok=True)
    pictures = {"importances": used_picture(explanation.uses)} if explanation.uses else {}
    for effect in explanation.effects[:MOST_PICTURES]:
        pictures[f"effect-{effect.use.column}"] = effect_picture(effect)
    for name, picture in pictures.items():
        save_picture(picture, folder / f"{name}.png")
    drawn = {name: (folder / f"{name}.png").read_bytes() for name in pictures}
    write_whole(folder / PAGE, page(explanation, drawn).encode())
    write_whole(folder / "columns.csv", columns_csv(explanation).encode())
    if explanation.reasons is not None:
        write_whole(folder / "reasons.csv", reasons_csv(explanation.reasons.reasons).encode())
    return folder / PAGE
