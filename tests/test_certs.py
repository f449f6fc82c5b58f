"""Certificates as others see them: openssl, TLS, and the command line."""

import datetime
import os
import shutil
import socket
import ssl
import stat
import subprocess
import threading
import tomllib
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID
from typer.testing import CliRunner, Result

from hedgerow.cli import app
from hedgerow.errors import IdentityError, ParameterError
from hedgerow.identity import authority
from hedgerow.identity import x509 as issuing
from hedgerow.identity.authority import certificates, check_valid, issue, make_ca, renew, revoke, revoked_checker
from hedgerow.identity.identity import Identity, load_certificate
from hedgerow.storage import atomic

DAY = datetime.timedelta(days=1)
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl command is not here")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A CA with two parties."""
    make_ca(tmp_path / "pki")
    issue(tmp_path / "pki", "alice", "bob")
    return tmp_path / "pki"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """Moves the clock by which certificates and lists are made and judged."""
    real = issuing.now

    def move(days: float) -> None:
        monkeypatch.setattr(issuing, "now", lambda: real() + days * DAY)

    return move


def run(*words: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["certs", *map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def checker(folder: Path):
    return revoked_checker((folder / "crl.pem").read_bytes(), (folder / "ca.pem").read_bytes())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def openssl(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)  # noqa: S607


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def with_critical(crl: x509.CertificateRevocationList, ca: issuing.Pair) -> x509.CertificateRevocationList:
    """The same list, as one that says it is only a supplement to another."""
    return (
        x509.CertificateRevocationListBuilder(crl.issuer, crl.last_update_utc, crl.next_update_utc)
        .add_extension(x509.DeltaCRLIndicator(1), critical=True)
        .sign(ca.key, hashes.SHA256())
    )


# What is made


@needs_openssl
@pytest.mark.parametrize("purpose", ["sslclient", "sslserver"])
def test_openssl_accepts_a_certificate_for_both_ends(folder: Path, purpose: str) -> None:
    found = openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", folder / "ca.pem", folder / "alice.pem")
    assert found.returncode == 0, found.stderr


@needs_openssl
def test_openssl_refuses_the_certificate_of_another_ca_of_the_same_name(folder: Path, tmp_path: Path) -> None:
    make_ca(tmp_path / "other")
    assert openssl("verify", "-CAfile", tmp_path / "other" / "ca.pem", folder / "alice.pem").returncode != 0


@needs_openssl
def test_openssl_prints_the_same_fingerprint(folder: Path) -> None:
    printed = openssl("x509", "-in", folder / "bob.pem", "-noout", "-fingerprint", "-sha256").stdout
    said = printed.strip().rpartition("=")[2].replace(":", "").lower()
    assert said == next(c.fingerprint for c in certificates(folder) if c.name == "bob")


def test_a_certificate_says_what_it_may_be_used_for(folder: Path) -> None:
    found = read(folder / "alice.pem").extensions
    san = found.get_extension_for_class(x509.SubjectAlternativeName).value
    assert san.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(ip) for ip in san.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert set(found.get_extension_for_class(x509.ExtendedKeyUsage).value) == {
        ExtendedKeyUsageOID.CLIENT_AUTH,
        ExtendedKeyUsageOID.SERVER_AUTH,
    }
    usage = found.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not usage.key_cert_sign
    assert not found.get_extension_for_class(x509.BasicConstraints).value.ca


def test_hosts_can_be_names_and_addresses(folder: Path) -> None:
    issue(folder, "carol", hosts=["carol.example", "::1", "10.0.0.7"])
    san = read(folder / "carol.pem").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert san.get_values_for_type(x509.DNSName) == ["carol.example"]
    assert [str(ip) for ip in san.get_values_for_type(x509.IPAddress)] == ["::1", "10.0.0.7"]


def test_keys_are_readable_by_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_ca(tmp_path / "open")
        issue(tmp_path / "open", "alice")
    finally:
        os.umask(before)
    assert mode(tmp_path / "open") == 0o700
    assert {mode(key) for key in (tmp_path / "open").glob("*.key")} == {0o600}


def test_a_key_is_private_before_it_has_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watch(beside: str, place: Path) -> None:
        seen.append((Path(place).name, mode(Path(beside))))
        real(beside, place)

    real = atomic.os.replace
    monkeypatch.setattr(atomic.os, "replace", watch)
    monkeypatch.setattr(atomic.os, "chmod", lambda *_: None)  # what it is without being put right afterwards
    issue(folder, "carol")
    assert ("carol.key", 0o600) in seen


def test_a_key_that_cannot_be_written_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(folder.iterdir())
    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(IdentityError, match=r"Cannot write .*carol\.key: No space left"):
        issue(folder, "carol")
    assert sorted(folder.iterdir()) == before


def test_a_certificate_ends_with_its_ca_at_the_latest(tmp_path: Path) -> None:
    ca = make_ca(tmp_path, days=10)
    assert issue(tmp_path, "alice", days=365)[0].until == ca.until


# TLS


def shake_hands(server: Path, client: Path, ca: Path, trusted: Path | None = None) -> tuple[bytes | None, bytes | None]:
    """The certificates that two ends see of each other; raises what the client's side raises."""
    ends = [ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)]
    for context, own in zip(ends, (server, client), strict=True):
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(own, own.with_suffix(".key"))
        context.load_verify_locations(trusted if trusted and context is ends[1] else ca)
    left, right = socket.socketpair()
    seen: list[bytes | None] = []

    def serve() -> None:
        try:
            with ends[0].wrap_socket(left, server_side=True) as wrapped:
                seen.append(wrapped.getpeercert(binary_form=True))
                wrapped.sendall(b"x")
        except (ssl.SSLError, OSError):
            left.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with right, ends[1].wrap_socket(right, server_hostname="localhost") as wrapped:
            wrapped.recv(1)
            return wrapped.getpeercert(binary_form=True), (thread.join(10), seen[0])[1]
    finally:
        right.close()
        thread.join(10)


def test_two_parties_shake_hands_and_see_each_others_certificates(folder: Path) -> None:
    at_client, at_server = shake_hands(folder / "alice.pem", folder / "bob.pem", folder / "ca.pem")
    assert at_client == load_certificate(folder / "alice.pem")
    assert at_server == load_certificate(folder / "bob.pem")


def test_a_handshake_with_a_party_of_another_ca_fails(folder: Path, tmp_path: Path) -> None:
    other = make_ca(tmp_path / "other").file
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        shake_hands(folder / "alice.pem", folder / "bob.pem", folder / "ca.pem", trusted=other)


def test_a_handshake_with_an_expired_certificate_fails(folder: Path, clock) -> None:
    clock(-400)
    make_ca(folder / "past")
    issue(folder / "past", "alice", "bob", days=365)
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
        shake_hands(folder / "past" / "alice.pem", folder / "past" / "bob.pem", folder / "past" / "ca.pem")


# What is refused


def test_a_ca_is_never_overwritten(folder: Path) -> None:
    before = (folder / "ca.key").read_bytes()
    with pytest.raises(IdentityError, match=r"ca\.pem exists and is not overwritten"):
        make_ca(folder)
    (folder / "ca.pem").unlink()
    with pytest.raises(IdentityError, match=r"ca\.key exists and is not overwritten"):
        make_ca(folder)
    assert (folder / "ca.key").read_bytes() == before


def test_a_party_is_never_overwritten_and_then_no_other_is_made(folder: Path) -> None:
    before = (folder / "bob.key").read_bytes()
    with pytest.raises(IdentityError, match=r"bob\.pem exists"):
        issue(folder, "carol", "bob")
    assert (folder / "bob.key").read_bytes() == before
    assert not list(folder.glob("carol.*"))


@pytest.mark.parametrize(
    "name", ["", "../eve", "a/b", "a b", "ä", "a\n", ".hidden", "-x", "x" * 65, 'a"b', "a\0", "a\u202eb"]
)
def test_a_name_that_is_no_name_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="cannot be the name of a party"):
        issue(folder, name)


@pytest.mark.parametrize("name", ["ca", "CA", "crl", "alice.old", "alice.old.2"])
def test_a_name_that_the_folder_needs_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="needs for itself"):
        issue(folder, name)


def test_the_longest_name_is_allowed(folder: Path) -> None:
    assert issue(folder, "x" * 64)[0].name == "x" * 64


def test_a_name_given_twice_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="given twice"):
        issue(folder, "carol", "Carol")


@pytest.mark.parametrize("host", ["", "a b", "-a.example", "http://a", "a..b", "é.example", "a" * 64, "*.example"])
def test_a_host_that_is_none_is_refused(folder: Path, host: str) -> None:
    with pytest.raises(ParameterError, match="neither a host name nor an IP address"):
        issue(folder, "carol", hosts=[host])


@pytest.mark.parametrize("days", [0, -1, 36501])
def test_days_out_of_range_are_refused(tmp_path: Path, days: int) -> None:
    with pytest.raises(ParameterError, match="from 1 to 36500"):
        make_ca(tmp_path / "pki", days=days)
    assert not (tmp_path / "pki").exists()


@pytest.mark.parametrize("name", ["", "x" * 65, "a\x1b[2J"])
def test_a_ca_needs_a_name_that_can_be_printed(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="printable"):
        make_ca(tmp_path, name)


def test_without_a_ca_nothing_is_issued(tmp_path: Path) -> None:
    with pytest.raises(IdentityError, match="There is no folder"):
        issue(tmp_path / "nowhere", "alice")
    with pytest.raises(IdentityError, match=r"There is no ca\.pem in .*hedgerow certs ca"):
        issue(tmp_path, "alice")


def test_a_ca_whose_key_is_anothers_is_refused(folder: Path) -> None:
    shutil.copy(folder / "bob.key", folder / "ca.key")
    with pytest.raises(IdentityError, match=r"ca\.key does not belong"):
        issue(folder, "carol")


def test_an_expired_ca_issues_nothing(folder: Path, clock) -> None:
    clock(3651)
    with pytest.raises(IdentityError, match="'Hedgerow CA' expired on"):
        issue(folder, "carol")


def test_a_certificate_is_refused_before_and_after_its_time(folder: Path) -> None:
    der, now = load_certificate(folder / "alice.pem"), datetime.datetime.now(datetime.UTC)
    check_valid(der)
    check_valid(der, now + 364 * DAY)
    with pytest.raises(IdentityError, match="'alice' expired on 20"):
        check_valid(der, now + 366 * DAY)
    with pytest.raises(IdentityError, match="'alice' is not valid before 20"):
        check_valid(der, now - DAY)


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(IdentityError, match="What was given as a certificate is none"):
        check_valid(b"garbage")


# Renewal


def test_renewing_keeps_the_key_the_hosts_and_the_former_certificate(folder: Path) -> None:
    before, key = (folder / "alice.pem").read_bytes(), (folder / "alice.key").read_bytes()
    hosts = read(folder / "alice.pem").extensions.get_extension_for_class(x509.SubjectAlternativeName)
    made = renew(folder, "alice")
    assert (folder / "alice.key").read_bytes() == key
    assert (folder / "alice.old.pem").read_bytes() == before
    assert read(folder / "alice.pem").extensions.get_extension_for_class(x509.SubjectAlternativeName) == hosts
    assert Identity.load(folder / "alice.pem", folder / "alice.key").fingerprint == made.fingerprint
    assert made.fingerprint != Identity.load(folder / "alice.old.pem", folder / "alice.key").fingerprint


def test_renewing_with_a_new_key_keeps_the_former_one_too(folder: Path) -> None:
    key = (folder / "alice.key").read_bytes()
    renew(folder, "alice", new_key=True)
    assert (folder / "alice.key").read_bytes() != key
    assert (folder / "alice.old.key").read_bytes() == key
    assert mode(folder / "alice.key") == mode(folder / "alice.old.key") == 0o600
    Identity.load(folder / "alice.pem", folder / "alice.key")
    Identity.load(folder / "alice.old.pem", folder / "alice.old.key")


def test_every_certificate_that_was_renewed_can_still_be_revoked(folder: Path) -> None:
    ders = [load_certificate(folder / "alice.pem")]
    for _ in range(3):
        renew(folder, "alice")
        ders.append(load_certificate(folder / "alice.pem"))
    for name in ("alice.old", "alice.old.2", "alice.old.3"):
        revoke(folder, name)
    assert [checker(folder)(der) for der in ders] == [True, True, True, False]


def test_renewing_can_change_the_hosts(folder: Path) -> None:
    renew(folder, "alice", ["moved.example"])
    san = read(folder / "alice.pem").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert san.get_values_for_type(x509.DNSName) == ["moved.example"]


def test_a_revoked_certificate_is_renewed_only_with_a_new_key(folder: Path) -> None:
    revoke(folder, "alice")
    with pytest.raises(IdentityError, match="alice is revoked; renew it with a new key"):
        renew(folder, "alice")
    renew(folder, "alice", new_key=True)
    assert not checker(folder)(load_certificate(folder / "alice.pem"))


def test_a_stranger_is_not_renewed(folder: Path, tmp_path: Path) -> None:
    make_ca(tmp_path / "other")
    for suffix in (".pem", ".key"):
        shutil.copy(folder / f"alice{suffix}", tmp_path / "other" / f"alice{suffix}")
    with pytest.raises(IdentityError, match="was not issued by the CA of this folder"):
        renew(tmp_path / "other", "alice")
    with pytest.raises(IdentityError, match=r"Cannot read the certificate .*nobody\.pem"):
        renew(folder, "nobody")


# Revocation


def test_a_revoked_certificate_is_found_on_the_list_and_others_are_not(folder: Path) -> None:
    made = revoke(folder, "alice")
    assert (made.number, made.n_revoked) == (1, 1)
    assert checker(folder)(load_certificate(folder / "alice.pem"))
    assert not checker(folder)(load_certificate(folder / "bob.pem"))


def test_the_list_grows_and_its_number_rises(folder: Path) -> None:
    revoke(folder, "alice")
    first = x509.load_pem_x509_crl((folder / "crl.pem").read_bytes())
    bob = next(c.fingerprint for c in certificates(folder) if c.name == "bob")
    made = revoke(folder, ":".join(bob[i : i + 2] for i in range(0, 64, 2)).upper())
    assert (made.number, made.n_revoked) == (2, 2)
    both = x509.load_pem_x509_crl((folder / "crl.pem").read_bytes())
    kept = both.get_revoked_certificate_by_serial_number(first[0].serial_number)
    assert kept is not None
    assert kept.revocation_date_utc == first[0].revocation_date_utc
    assert checker(folder)(load_certificate(folder / "alice.pem"))
    assert checker(folder)(load_certificate(folder / "bob.pem"))


def test_revoking_twice_or_nobody_only_renews_the_list(folder: Path) -> None:
    revoke(folder, "alice")
    assert revoke(folder, "alice").n_revoked == 1
    again = revoke(folder)
    assert (again.number, again.n_revoked) == (3, 1)


def test_of_many_revocations_at_once_none_is_lost(folder: Path) -> None:
    names = [f"p{i}" for i in range(8)]
    issue(folder, *names)
    threads = [threading.Thread(target=revoke, args=(folder, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(checker(folder)(load_certificate(folder / f"{name}.pem")) for name in names)


@needs_openssl
def test_openssl_refuses_what_is_on_the_list(folder: Path) -> None:
    revoke(folder, "alice")
    words = ("verify", "-crl_check", "-CAfile", folder / "ca.pem", "-CRLfile", folder / "crl.pem")
    assert openssl(*words, folder / "bob.pem").returncode == 0
    found = openssl(*words, folder / "alice.pem")
    assert found.returncode != 0
    assert "certificate revoked" in found.stderr


def test_a_list_of_another_ca_is_refused(folder: Path, tmp_path: Path) -> None:
    make_ca(tmp_path / "other")
    revoke(tmp_path / "other")
    with pytest.raises(IdentityError, match="was not signed by the CA"):
        revoked_checker((tmp_path / "other" / "crl.pem").read_bytes(), (folder / "ca.pem").read_bytes())


def test_a_list_from_which_an_entry_was_taken_is_refused(folder: Path) -> None:
    revoke(folder, "alice")
    crl = x509.load_pem_x509_crl((folder / "crl.pem").read_bytes())
    der = crl.public_bytes(serialization.Encoding.DER)
    serial = crl[0].serial_number
    size = (serial.bit_length() + 7) // 8
    other = der.replace(serial.to_bytes(size, "big"), (serial ^ 1).to_bytes(size, "big"))
    assert other != der
    pem = x509.load_der_x509_crl(other).public_bytes(serialization.Encoding.PEM)
    with pytest.raises(IdentityError, match="was not signed by the CA"):
        revoked_checker(pem, (folder / "ca.pem").read_bytes())
    (folder / "crl.pem").write_bytes(pem)
    with pytest.raises(IdentityError, match="was not signed by the CA"):
        revoke(folder, "bob")


def test_a_list_past_its_next_update_is_refused_until_it_is_renewed(folder: Path, clock) -> None:
    revoke(folder, "alice")
    clock(31)
    with pytest.raises(IdentityError, match=r"past its next update \(20.*hedgerow certs revoke FOLDER"):
        checker(folder)
    revoke(folder)
    assert checker(folder)(load_certificate(folder / "alice.pem"))


def test_a_list_can_hold_longer(folder: Path, clock) -> None:
    revoke(folder, days=90)
    clock(89)
    checker(folder)


def test_a_list_from_the_future_is_refused(folder: Path, clock) -> None:
    revoke(folder)
    clock(-1)
    with pytest.raises(IdentityError, match="from the future"):
        checker(folder)


def test_a_list_that_is_only_a_supplement_is_refused(folder: Path) -> None:
    revoke(folder)
    ca = authority._load_ca(folder)
    crl = with_critical(x509.load_pem_x509_crl((folder / "crl.pem").read_bytes()), ca)
    with pytest.raises(IdentityError, match="covers only some certificates"):
        revoked_checker(crl.public_bytes(serialization.Encoding.PEM), (folder / "ca.pem").read_bytes())


def test_garbage_is_no_list_and_no_ca(folder: Path) -> None:
    revoke(folder)
    with pytest.raises(IdentityError, match="The revocation list is not one in PEM"):
        revoked_checker(b"garbage", (folder / "ca.pem").read_bytes())
    with pytest.raises(IdentityError, match="The CA is not a certificate in PEM"):
        revoked_checker((folder / "crl.pem").read_bytes(), b"garbage")


def test_only_what_the_ca_issued_is_revoked(folder: Path, tmp_path: Path) -> None:
    make_ca(tmp_path / "other")
    issue(tmp_path / "other", "eve")
    shutil.copy(tmp_path / "other" / "eve.pem", folder / "eve.pem")
    with pytest.raises(IdentityError, match="eve was not issued by the CA"):
        revoke(folder, "eve")
    with pytest.raises(IdentityError, match=r"No party in .* has the fingerprint"):
        revoke(folder, next(c.fingerprint for c in certificates(folder) if c.file.name == "ca.pem"))
    with pytest.raises(ParameterError, match="needs for itself"):
        revoke(folder, "ca")
    assert not (folder / "crl.pem").exists()


# The command line


def test_the_printed_lines_are_a_run_files_parties(folder: Path) -> None:
    run("ca", folder / "new", "--name", "Ours", "--days", 20)
    parties = tomllib.loads(run("issue", folder / "new", "alice", "bob.2", "--host", "a.example").stdout)["party"]
    assert [party["name"] for party in parties] == ["alice", "bob.2"]
    for party in parties:
        der = load_certificate(folder / "new" / f"{party['name']}.pem")
        assert party["fingerprint"] == authority.fingerprint(der)


def test_renewing_says_that_the_fingerprint_changed(folder: Path) -> None:
    result = run("renew", folder, "alice")
    assert "The fingerprint changed" in result.stderr
    assert "run files and policies" in result.stderr
    made = tomllib.loads(result.stdout)["party"][0]
    assert made["fingerprint"] == authority.fingerprint(load_certificate(folder / "alice.pem"))


def test_showing_a_folder_tells_who_is_revoked_and_who_is_expired(folder: Path, clock) -> None:
    assert [line.split()[-1] for line in run("show", folder).stdout.splitlines()[1:]] == ["-"] * 3
    assert "number 1, 1 revoked" in run("revoke", folder, "alice").stdout
    rows = {line.split()[0]: line.split()[1:] for line in run("show", folder).stdout.splitlines()}
    assert rows["alice"][-1] == "yes"
    assert rows["bob"][-1] == "no"
    assert run("show", folder / "bob.pem").stdout.splitlines()[1].split() == ["bob", *rows["bob"]]
    clock(400)
    later = run("show", folder)
    assert "(expired)" in next(line for line in later.stdout.splitlines() if line.startswith("bob"))
    assert "past its next update" in later.stderr


def test_fingerprints_are_not_folded(folder: Path) -> None:
    result = CliRunner(env={"COLUMNS": "40"}).invoke(app, ["certs", "show", str(folder)])
    assert all(c.fingerprint in result.stdout for c in certificates(folder))


def test_a_name_in_a_strangers_certificate_cannot_move_the_cursor(tmp_path: Path) -> None:
    evil = Identity.fresh("eve\x1b[2J")
    pem = x509.load_der_x509_certificate(evil.certificate).public_bytes(serialization.Encoding.PEM)
    (tmp_path / "eve.pem").write_bytes(pem)
    assert "\x1b" not in run("show", tmp_path / "eve.pem").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ca", "pki"), "pki/ca.pem exists and is not overwritten"),
        (("ca", "file/pki"), "Cannot make the folder file/pki"),
        (("issue", "pki", "a/b"), "cannot be the name of a party"),
        (("issue", "nowhere", "alice"), "make a CA there with 'hedgerow certs ca nowhere'"),
        (("renew", "pki", "nobody"), "Cannot read the certificate pki/nobody.pem"),
        (("revoke", "pki", "0" * 64), "has the fingerprint 0000"),
        (("show", "empty"), "There is no certificate in empty"),
        (("show", "file"), "file is not a certificate in PEM"),
        (("show", "nowhere"), "Cannot read the certificate nowhere"),
    ],
)
def test_a_refusal_is_one_sentence(
    folder: Path, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder.parent / "empty").mkdir()
    (folder.parent / "file").write_text("x")
    result = run(*words, code=3)
    assert result.stderr.startswith("hedgerow: ")
    assert len(result.stderr.splitlines()) == 1
    assert said in result.stderr
