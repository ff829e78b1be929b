"""Puts presync on the path: the release with its checksum verified, else built by cargo."""
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workflow import fail, say, text  # noqa: E402

TARGETS = {
    ("Linux", "x86_64"): "x86_64-unknown-linux-musl",
    ("Linux", "aarch64"): "aarch64-unknown-linux-musl",
    ("Darwin", "x86_64"): "x86_64-apple-darwin",
    ("Darwin", "arm64"): "aarch64-apple-darwin",
    ("Windows", "AMD64"): "x86_64-pc-windows-msvc",
}
REPOSITORY = "presync/presync"


def main():
    version = wanted()
    if version == "installed":
        if not shutil.which("presync"):
            fail("the input version is `installed`, but there is no presync on the path")
        return
    folder = Path(text("RUNNER_TEMP", tempfile.gettempdir())) / "presync-bin"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        release(version, folder)
    except Unavailable as error:
        print(f"{error}; building presync with cargo instead")
        build(version, folder)
    with open(os.environ["GITHUB_PATH"], "a", encoding="utf-8") as file:
        file.write(f"{folder}\n")


def wanted():
    version = text("INPUT_VERSION").strip()
    if not version:
        reference = text("ACTION_REF")
        version = reference[1:] if re.fullmatch(r"v\d+\.\d+\.\d+", reference) else "latest"
    version = version[1:] if re.fullmatch(r"v\d.*", version) else version
    if version not in ("latest", "installed") and not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", version):
        fail("the input version is a version such as 0.1.0, `latest` or `installed`")
    return version


class Unavailable(Exception):
    """There is no release to download."""


def release(version, folder):
    """Downloads a release. A wrong checksum ends the job; only a missing release is made up for by a build."""
    target = TARGETS.get((platform.system(), platform.machine()))
    if not target:
        raise Unavailable(f"there is no release for {platform.system()} on {platform.machine()}")
    ending = "zip" if platform.system() == "Windows" else "tar.gz"
    name = f"presync-{target}.{ending}"
    repository = text("ACTION_REPOSITORY", REPOSITORY)
    place = "latest/download" if version == "latest" else f"download/v{version}"
    base = f"{text('GITHUB_SERVER_URL', 'https://github.com')}/{repository}/releases/{place}"
    archive = fetch(f"{base}/{name}")
    sums = dict(reversed(line.split()) for line in fetch(f"{base}/SHA256SUMS").decode().splitlines() if len(line.split()) == 2)
    if sums.get(name) != hashlib.sha256(archive).hexdigest():
        fail(f"the checksum of {name} is not the one that SHA256SUMS of the release has")
    attest(archive, name, repository)
    program = "presync.exe" if platform.system() == "Windows" else "presync"
    path = folder / program
    path.write_bytes(member(archive, ending, program))
    path.chmod(0o755)


def member(archive, ending, program):
    if ending == "zip":
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            return file.read(program)
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        return file.extractfile(program).read()


def fetch(url):
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "presync"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise Unavailable(f"there is no {url}") from error
        fail(f"cannot download {url}: {error}")
    except OSError as error:
        fail(f"cannot download {url}: {error}")


def attest(archive, name, repository):
    """Verifies where the archive was built, with GitHub's own program. Other runners may lack it: the checksum was verified before."""
    program = shutil.which("gh")
    if not program or not text("INPUT_TOKEN"):
        print(f"the attestation of {name} is not verified: it needs gh and a token")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(archive)
        done = subprocess.run(
            [program, "attestation", "verify", str(path), "--repo", repository],
            env={**os.environ, "GH_TOKEN": text("INPUT_TOKEN")},
            capture_output=True,
            text=True,
        )
    if done.returncode != 0:
        fail(f"the attestation of {name} cannot be verified: {done.stderr.strip()}")


def build(version, folder):
    if not shutil.which("cargo"):
        fail("there is no release of presync for this runner, and no cargo to build it with")
    with tempfile.TemporaryDirectory() as root:
        command = ["cargo", "install", "--locked", "--root", root, "presync"]
        done = subprocess.run(command if version == "latest" else [*command, "--version", version])
        if done.returncode != 0:
            fail("cargo cannot build presync")
        for path in (Path(root) / "bin").iterdir():
            shutil.copy2(path, folder)
    say("notice", "presync was built with cargo, because there is no release for this runner")


if __name__ == "__main__":
    main()
