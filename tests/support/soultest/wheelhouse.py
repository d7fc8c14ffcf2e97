"""The libraries of this installation as wheels again, for a package installer that has no index to ask."""

import importlib.metadata
import re
import zipfile
from hashlib import sha256
from importlib.metadata import Distribution, PackagePath
from pathlib import Path
from typing import Final

LEFT_OUT: Final = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
"""What an installer writes."""


def fill(directory: Path, lock: Path) -> None:
    """Puts those that the lock names there, and rewrites it: it then has these wheels, with their hashes, and no others."""
    wanted = set(re.findall(r"^([\w.-]+)==", lock.read_text(), re.MULTILINE))
    found = {_name(each): each for each in importlib.metadata.distributions() if _name(each) in wanted}
    wheels = {name: _wheel(each, directory) for name, each in found.items()}
    hashes = {name: sha256(wheel.read_bytes()).hexdigest() for name, wheel in wheels.items()}
    lock.write_text("".join(f"{name}=={found[name].version} --hash=sha256:{hashes[name]}\n" for name in sorted(found)))


def as_version(version: str, wheel: Path) -> None:
    """Puts another release of the package beside the wheel: the same files under this version."""
    name, _, tags = wheel.name.split("-", 2)
    with zipfile.ZipFile(wheel) as given, zipfile.ZipFile(wheel.with_name(f"{name}-{version}-{tags}"), "w") as archive:
        [metadata] = [each for each in given.namelist() if each.endswith(".dist-info/METADATA")]
        about = str(Path(metadata).parent)
        for each in given.namelist():
            content = given.read(each)
            if each == metadata:
                content = re.sub(
                    rb"^Version: .*$", f"Version: {version}".encode(), content, count=1, flags=re.MULTILINE
                )
            if each == f"{about}/RECORD":
                content = re.sub(rb",.*", b",,", content).replace(
                    about.encode(), f"{name}-{version}.dist-info".encode()
                )
            archive.writestr(re.sub(f"^{re.escape(about)}/", f"{name}-{version}.dist-info/", each), content)


def _name(distribution: Distribution) -> str:
    return re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()


def _wheel(distribution: Distribution, directory: Path) -> Path:
    files = [each for each in distribution.files or () if _belongs(each)]
    [about] = [each for each in files if each.name == "WHEEL" and each.parent.suffix == ".dist-info"]
    tags = [tag.split("-") for tag in re.findall(r"^Tag: (\S+)$", about.read_text(), re.MULTILINE)]
    joined = "-".join(".".join(dict.fromkeys(each)) for each in zip(*tags, strict=True))
    wheel = directory / f"{about.parent.name.removesuffix('.dist-info')}-{joined}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for each in files:
            archive.write(each.locate(), each.as_posix())
        archive.writestr(f"{about.parent}/RECORD", "".join(f"{each.as_posix()},,\n" for each in files))
    return wheel


def _belongs(file: PackagePath) -> bool:
    """Whether it was in the wheel: programs are made at the installation."""
    return ".." not in file.parts and file.suffix != ".pyc" and file.name not in LEFT_OUT
