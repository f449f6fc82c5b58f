"""Files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes, refusal: type[Exception], mode: int | None = None) -> None:
    """Write a file beside its place, then move it there: a reader never sees half of it.

    It can be read by its owner alone until it is in its place. There it has the given mode, or else that of the file
    it replaces, or of any new file.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise refusal(f"Cannot write {path}: it is not a file.")
    try:
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, _mode(path) if mode is None else mode)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise refusal(f"Cannot write {path}: {error.strerror or error}.") from None


def _mode(path: Path) -> int:
    return path.stat().st_mode if path.exists() else 0o666 & ~_umask()


def _umask() -> int:
    """The bits that new files of this process lack; can only be read by setting them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def sync_folder(path: Path) -> None:
    """Wait until the folder of a file that was made or replaced would show it after a loss of power."""
    folder = os.open(path.resolve().parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
