"""Write the folders: certificates first, since the run file names them."""

import shutil
from pathlib import Path

from hedgerow.errors import ParameterError, RunError
from hedgerow.identity import authority
from hedgerow.run.file.description import RunFile
from hedgerow.run.starter.choices import Choices
from hedgerow.run.starter.pages import overview, page_of, policy_text
from hedgerow.storage.atomic import write_whole

CA = "ca"


def set_up(choices: Choices, place: Path) -> list[Path]:
    """A folder for each party below `place`; nothing is written if anything is refused. Returns the folders."""
    run = choices.check()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise ParameterError(f"{place} is there already, and not empty; name another folder.")
    existed = place.exists()
    try:
        return _written(choices, run, place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        if existed:
            place.mkdir()
        raise


def _written(choices: Choices, run: RunFile, place: Path) -> list[Path]:
    authority.make_ca(place / CA, f"CA of {choices.name}"[:64])
    made = {} if choices.own_keys else {name: _certificate(choices, place / CA, name) for name in choices.everybody}
    text = choices.text({name: one.fingerprint for name, one in made.items()})
    folders = [place / name for name in choices.everybody]
    for folder in folders:
        name = folder.name
        folder.mkdir(mode=0o700)
        shutil.copyfile(place / CA / "ca.pem", folder / "ca.pem")
        if made:
            shutil.copyfile(place / CA / f"{name}.pem", folder / f"{name}.pem")  # the CA keeps it, to revoke it by name
            (place / CA / f"{name}.key").rename(folder / f"{name}.key")
        _write(folder / "run.toml", text)
        runs = run.folder if name == choices.drives else run.folder.with_name(f"{run.folder.name}-{name}")
        _write(folder / "README.md", page_of(choices, name, str(runs)))
        if name != choices.drives:
            _write(folder / "policy.toml", policy_text(choices, run.params.n_estimators))
    _write(place / "README.md", overview(choices))
    return folders


def _certificate(choices: Choices, ca: Path, name: str) -> authority.Certificate:
    hosts = {*authority.HOSTS, choices.host} if name == choices.drives else authority.HOSTS
    return authority.issue(ca, name, hosts=sorted(hosts))[0]


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode(), RunError)
