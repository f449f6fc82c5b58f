"""Certificates for those who have none: a small certificate authority (CA) in a folder."""

from glob import glob
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands.print_tables import note
from hedgerow.errors import IdentityError, ParameterError, RunError
from hedgerow.identity import authority, requests, x509
from hedgerow.report.tree_text import plain
from hedgerow.run.file.fedtree_keys import file_text
from hedgerow.run.starter.run_text import pinned
from hedgerow.storage.atomic import write_whole

Folder = Annotated[Path, typer.Argument(help="Folder of the CA.", show_default=False)]
CaName = Annotated[str, typer.Option(help="Name of the CA.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of parties.", show_default=False)]
Name = Annotated[str, typer.Argument(help="Name of a party.", show_default=False)]
Hosts = Annotated[
    list[str] | None,
    typer.Option("--host", help="Host name or IP address by which the party is reached; may be given several times."),
]
SameHosts = Annotated[list[str] | None, typer.Option("--host", help="Hosts in place of those it has.")]
Days = Annotated[int, typer.Option(help="How long it is valid.")]
ListDays = Annotated[int, typer.Option(help="For how long the list can be used; renew it before.")]
NewKey = Annotated[bool, typer.Option("--new-key", help="Make a new key too.")]
Who = Annotated[
    str | None,
    typer.Argument(metavar="[NAME|FINGERPRINT]", help="Whom; without it the list is only renewed.", show_default=False),
]
OwnFolder = Annotated[Path, typer.Argument(help="Where the key stays.", show_default=False)]
Requests = Annotated[list[Path], typer.Argument(metavar="REQUEST...", help="What parties sent.", show_default=False)]
RunFiles = Annotated[
    list[str] | None,
    typer.Option(
        help="Run files of `hedgerow init` into which the fingerprints go; a pattern in quotes.", show_default=False
    ),
]
FileOrFolder = Annotated[Path, typer.Argument(help="A certificate, or a folder of them.", show_default=False)]


def ca(folder: Folder, name: CaName = "Hedgerow CA", days: Days = 3650) -> None:
    """Make a CA: FOLDER/ca.pem for everybody, FOLDER/ca.key for nobody else."""
    made = authority.make_ca(folder, name, days)
    typer.echo(f"CA: {made.file}, valid until {made.until:%Y-%m-%d}")
    note(f"Who has {made.file.with_suffix('.key')} can make certificates in any name; keep it to yourself.")


def issue(folder: Folder, names: Names, host: Hosts = None, days: Days = 365) -> None:
    """Make NAME.pem and NAME.key for each name; prints the lines that name them in a run file."""
    made = authority.issue(folder, *names, hosts=host or authority.HOSTS, days=days)
    typer.echo("\n\n".join(_snippet(one) for one in made))
    note(f"Valid until {made[0].until:%Y-%m-%d}. A key is for its party alone; send it over a secure channel.")


def renew(folder: Folder, name: Name, host: SameHosts = None, days: Days = 365, new_key: NewKey = False) -> None:
    """Make a new certificate in place of NAME.pem, which is kept as NAME.old.pem."""
    made = authority.renew(folder, name, host or (), days, new_key=new_key)
    typer.echo(_snippet(made))
    note(f"The fingerprint changed: put this one in place of the old one in run files and policies. "
         f"It is valid until {made.until:%Y-%m-%d}.")  # fmt: skip


def revoke(folder: Folder, who: Who = None, days: ListDays = 30) -> None:
    """Put a certificate on the list of revoked ones, FOLDER/crl.pem, and sign the list anew."""
    made = authority.revoke(folder, who, days)
    typer.echo(f"list: {made.file}, number {made.number}, {made.n_revoked} revoked, renew before {made.until:%Y-%m-%d}")
    note("Give the new list to everyone who checks certificates.")


def show(path: FileOrFolder) -> None:
    """List certificates: name, fingerprint, until when they are valid, and whether they are revoked."""
    rows = [("name", "fingerprint", "valid until", "revoked"), *map(_row, authority.certificates(path))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:  # not folded to the terminal's width: fingerprints are for copying
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    try:
        authority.check_list(path if path.is_dir() else path.parent)
    except IdentityError as error:
        note(str(error))


def request(folder: OwnFolder, name: Name, host: Hosts = None) -> None:
    """Make a key and a request for its certificate in FOLDER: NAME.key stays, NAME.csr goes to whoever has the CA."""
    made = requests.request(folder, name, host or authority.HOSTS)
    typer.echo(f"request: {made}")
    note(f"The key {made.with_suffix('.key')} never leaves this machine. Send the request to whoever has the CA.")


def sign(folder: Folder, files: Requests, days: Days = 365, run: RunFiles = None) -> None:
    """Make NAME.pem for requests of parties that hold their keys; prints the lines that name them in a run file."""
    texts = {path: file_text(path) for pattern in run or () for path in _matching(pattern)}
    made = requests.sign(folder, files, days)
    typer.echo("\n\n".join(_snippet(one) for one in made))
    prints = {one.name: one.fingerprint for one in made}
    for path, text in texts.items():
        write_whole(path, pinned(text, prints).encode(), RunError)
    where = f" They are also in {len(texts)} run files." if texts else ""
    note(
        f"Compare each fingerprint with its party, by telephone for example: who sent a request is not checked.{where}"
    )


def _matching(pattern: str) -> list[Path]:
    found = sorted(Path(name) for name in glob(pattern))
    if not found:
        raise ParameterError(f"There is no run file {pattern}; check the path.")
    return found


COMMANDS = (ca, issue, renew, revoke, show, request, sign)


def _snippet(made: authority.Certificate) -> str:
    """A party as a run file names it; a name has no character that TOML would need escaped."""
    return f'[[party]]\nname = "{made.name}"\nfingerprint = "{made.fingerprint}"'


def _row(found: authority.Certificate) -> tuple[str, str, str, str]:
    beside = "" if found.file.stem in (found.name, "ca") else f" ({found.file.name})"
    expired = " (expired)" if found.until < x509.now() else ""
    revoked = {None: "-", True: "yes", False: "no"}[found.revoked]
    return plain(found.name + beside), found.fingerprint, f"{found.until:%Y-%m-%d}{expired}", revoked
