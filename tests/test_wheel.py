import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from release import wheel as release

NAME = "hedgerow-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
LIST = "hedgerow-0.1.0.dist-info/sboms/hedgerow-native.cyclonedx.json"


def made(folder: Path, name: str = NAME, library: bytes = b"GLIBC_2.28", listed: bool = True) -> Path:
    path = folder / name
    with ZipFile(path, "w") as files:
        files.writestr("hedgerow/_native.abi3.so", library)
        if listed:
            files.writestr(LIST, f'{{"bom-ref": "path+{(folder / "source").as_uri()}/native"}}')
        files.writestr("hedgerow-0.1.0.dist-info/RECORD", "")
    return path


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": NAME.replace("abi3", "cp311")}, "no stable-ABI wheel"),
        ({"name": NAME.replace("_2_28", "_2_36")}, "no stable-ABI wheel"),
        ({"library": b"GLIBC_2.17 GLIBC_2.34"}, "needs glibc 2.34"),
        ({"listed": False}, "no list of the crates"),
        ({"library": f"GLIBC_2.28 {Path.home()}/crates/lib.rs".encode()}, "names the folder"),
    ],
)
def test_a_wheel_that_is_not_what_it_says_is_refused(tmp_path, wrong, sentence):
    with pytest.raises(SystemExit, match=sentence):
        release.check_contents(made(tmp_path, **wrong))


def test_the_folder_it_was_built_in_leaves_the_wheel_and_the_record_is_of_what_is_in_it(tmp_path):
    (tmp_path / "out").mkdir()
    clean = release.without_paths(made(tmp_path), tmp_path / "out" / NAME, tmp_path / "source")
    release.check_contents(clean)
    with ZipFile(clean) as files:
        assert b"file:///hedgerow/native" in files.read(LIST)
        record = files.read("hedgerow-0.1.0.dist-info/RECORD").decode().splitlines()
        assert [line.split(",")[0] for line in record] == files.namelist()
        assert f"{LIST},sha256=" in record[1]
        assert record[1].endswith(f",{len(files.read(LIST))}")


def test_the_wheel_trains_in_an_empty_environment_without_rust(tmp_path):
    """Built like this checkout, for this machine; `make wheel` does the same with the one for other machines.

    For the interpreter that `make build` builds for: for another one all of it would be compiled anew.
    """
    words = ["build", "--release", "--locked", "--quiet", "--interpreter", sys.executable, "--out", tmp_path]
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    maturin = Path(sys.executable).parent / "maturin"
    subprocess.run([maturin, *words], cwd=release.ROOT, env=environment, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    release.use_in_empty_environment(wheel)
