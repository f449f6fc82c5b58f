"""Build one wheel for every Linux of glibc 2.28 or newer, and see that it is what it says.

    python -m release.wheel            builds it into dist/ and uses it in an empty environment
    python -m release.wheel --twice    also builds it from a copy elsewhere, and compares the two byte by byte

Whoever builds the same commit with the same tools gets the same bytes: no path of the machine and no time of day is in
the wheel.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64encode
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = "manylinux_2_28"
NEWEST_GLIBC = (2, 28)
FIRST_USE = """
from sklearn.datasets import load_breast_cancer
from hedgerow import GBDTClassifier
print(GBDTClassifier(n_estimators=5).fit(*load_breast_cancer(return_X_y=True)).predict_proba([[0.0] * 30]).shape)
"""


def main() -> int:
    """Build, check, use."""
    parser = argparse.ArgumentParser(prog="python -m release.wheel", description=__doc__.splitlines()[0])
    parser.add_argument("--twice", action="store_true", help="build again from a copy elsewhere, and compare")
    asked = parser.parse_args()
    wheel = build(ROOT, ROOT / "dist")
    print(f"{wheel.relative_to(ROOT)}  sha256 {digest(wheel)}")
    check_contents(wheel)
    if asked.twice:
        check_same_again(wheel)
    use_in_empty_environment(wheel)
    audit()
    return 0


def build(source: Path, out: Path) -> Path:
    """The wheel of a source tree, with nothing of this machine in it."""
    with tempfile.TemporaryDirectory() as made:
        run(
            "maturin", "build", "--release", "--locked", "--quiet", "--strip", "true", "--zig",
            "--compatibility", PLATFORM, "--config", f"build.rustflags={json.dumps(neutral_paths(source))}",
            "--out", made, cwd=source, env=os.environ | {"SOURCE_DATE_EPOCH": commit_time(source)},
        )  # fmt: skip
        (raw,) = Path(made).glob("*.whl")
        out.mkdir(exist_ok=True)
        return without_paths(raw, out / raw.name, source)


def neutral_paths(source: Path) -> list[str]:
    """Compiler options that write the same paths into the library wherever it is built."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    toolchain = run("rustc", "--print", "sysroot").strip()
    named = {str(cargo / "registry" / "src"): "crates", toolchain: "rust", str(source): "hedgerow"}
    return [f"--remap-path-prefix={path}={name}" for path, name in named.items()]


def commit_time(source: Path) -> str:
    """The time that all files in the wheel have: that of the commit."""
    return run("git", "log", "-1", "--format=%ct", cwd=source).strip()


def without_paths(raw: Path, wheel: Path, source: Path) -> Path:
    """The list of crates names the folder that they were built in; written anew without it."""
    with ZipFile(raw) as old, ZipFile(wheel, "w", ZIP_DEFLATED) as new:
        kept = [(info, old.read(info)) for info in old.infolist() if not info.filename.endswith("/RECORD")]
        record = []
        for info, content in kept:
            if info.filename.endswith(".cyclonedx.json"):
                content = content.replace(source.as_uri().encode(), b"file:///hedgerow")
            write(new, info, content)
            sha = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{info.filename},sha256={sha},{len(content)}")
        (info,) = (info for info in old.infolist() if info.filename.endswith("/RECORD"))
        write(new, info, ("\n".join([*record, f"{info.filename},,"]) + "\n").encode())
    return wheel


def write(wheel: ZipFile, like: ZipInfo, content: bytes) -> None:
    """A file with the name, time and mode that it had."""
    info = ZipInfo(like.filename, like.date_time)
    info.external_attr, info.compress_type = like.external_attr, ZIP_DEFLATED
    wheel.writestr(info, content)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_contents(wheel: Path) -> None:
    """One library for every CPython from 3.11 on, a glibc old enough, a list of crates, no path of this machine."""
    if not re.fullmatch(rf"hedgerow-.*-cp311-abi3-{PLATFORM}_\w+\.whl", wheel.name):
        sys.exit(f"The wheel is called {wheel.name}, which is no stable-ABI wheel for {PLATFORM}.")
    with ZipFile(wheel) as files:
        content = {name: files.read(name) for name in files.namelist()}
    (library,) = (data for name, data in content.items() if name.endswith(".so"))
    newest = max(tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_(\d+\.\d+)", library))
    if newest > NEWEST_GLIBC:
        sys.exit(f"The library needs glibc {newest[0]}.{newest[1]}; it must not need more than 2.28.")
    if not any(name.endswith(".cyclonedx.json") for name in content):
        sys.exit("The wheel has no list of the crates in it.")
    for own in {str(Path.home()), str(ROOT), tempfile.gettempdir()}:
        named = [name for name, data in content.items() if f"{own}/".encode() in data]
        if named:
            sys.exit(f"The wheel names the folder {own} in {named[0]}.")
    print(f"needs glibc {newest[0]}.{newest[1]}; lists its crates; names no folder of this machine")


def check_same_again(wheel: Path) -> None:
    """The same bytes from a clean copy of the commit, in another folder with another target."""
    with tempfile.TemporaryDirectory() as elsewhere:
        copy = Path(elsewhere) / "copy"
        run("git", "clone", "--quiet", str(ROOT), str(copy))
        again = build(copy, Path(elsewhere) / "dist")
        if digest(again) != digest(wheel):
            sys.exit(f"Built twice, the wheels differ: {digest(wheel)} and {digest(again)}. Commit what is changed.")
    print("built twice, in two folders: the same bytes")


def use_in_empty_environment(wheel: Path) -> None:
    """Install it where there is no Rust, train a model in Python and one on the command line."""
    with tempfile.TemporaryDirectory() as empty:
        home, here = Path(empty), Path(empty) / "environment"
        run(sys.executable, "-m", "venv", str(here))
        left = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARGO", "RUST"))}
        env = left | {"PATH": f"{here / 'bin'}:/usr/bin:/bin"}
        if shutil.which("cargo", path=env["PATH"]):
            sys.exit("There is a Rust toolchain in /usr/bin, so this machine cannot show that none is needed.")
        run(
            "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
            "--no-compile", "--constraint", str(ROOT / "constraints.txt"), str(wheel),
            cwd=home, env=env,
        )  # fmt: skip
        shape = run("python", "-c", FIRST_USE, cwd=home, env=env)
        run("hedgerow", "train", "builtin:wine", "--n-estimators", "5", "--model", "wine.json", cwd=home, env=env)
        told = run("hedgerow", "evaluate", "wine.json", "builtin:wine", cwd=home, env=env)
        if "(1, 2)" not in shape or "auc" not in told:
            sys.exit("The wheel installs, but does not train.")
    print("installed without Rust; trains in Python and on the command line")


def audit() -> None:
    """Whether any pinned version of what an installation needs is known to be vulnerable."""
    words = ["--requirement", str(ROOT / "constraints.txt"), "--no-deps", "--disable-pip", "--format", "json"]
    told = subprocess.run([tool("pip-audit"), *words], capture_output=True, text=True, check=False)
    try:
        packages = json.loads(told.stdout)["dependencies"]
    except (ValueError, KeyError):
        sys.exit(f"pip-audit failed: {told.stderr.strip().splitlines()[-1] if told.stderr else 'it said nothing'}")
    bad = [f"{p['name']} {p['version']}: {v['id']}" for p in packages for v in p.get("vulns", [])]
    if bad:
        sys.exit("Known vulnerabilities: " + "; ".join(bad))
    skipped = sum("skip_reason" in p for p in packages)
    known = len(packages) - skipped
    print(f"pip-audit: {known} packages without known vulnerabilities, {skipped} that could not be looked up")


def tool(name: str) -> str:
    """A program that is installed beside this Python."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def run(command: str, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """What a program prints; what it says of a failure ends this one."""
    program = command if command == sys.executable else tool(command)
    if env is not None and env["PATH"] != os.environ["PATH"]:
        program = shutil.which(command, path=env["PATH"]) or sys.exit(f"There is no {command} in {env['PATH']}.")
    done = subprocess.run([program, *words], capture_output=True, text=True, cwd=cwd, env=env, check=False)
    if done.returncode:
        sys.exit(f"{command} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
