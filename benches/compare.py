#!/usr/bin/env python3
"""Measures presync and argocd-source-lint side by side on the same generated repository.

Takes a number of Applications; builds presync, installs argocd-source-lint 1.2.2 by hash into target/compare, generates the repository and
prints a table: median, least and most wall time, processor time, memory, and what each reported. Both read the repository as they would in CI.

    benches/compare.py [--applications 1000] [--runs 5]

The two do not do the same work. argocd-source-lint looks at every Application and every manifest file, and renders and plans nothing, so it
stands beside `presync check --all`; a pull request needs `presync check`, which looks at what the change touches.
"""

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "benches" / "compare-requirements.txt"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FOLDER = TARGET / "compare"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--applications", type=int, default=1000)
    arguments.add_argument("--runs", type=int, default=5)
    options = arguments.parse_args()

    lint = install()
    presync = build()
    repository, snapshot = FOLDER / f"fleet-{options.applications}", FOLDER / f"fleet-{options.applications}.json"
    generate = ["generate", repository, "--applications", options.applications, "--snapshot", snapshot, "--change"]
    run(["cargo", "bench", "--quiet", "--bench", "fleet", "--", *generate], cwd=ROOT)

    print(facts())
    print(version([presync, "--version"]) + ", argocd-source-lint " + version([lint, "--version"]))
    print(f"{options.applications} Applications, {options.applications * 4} manifests, one image changed; {options.runs} runs each\n")
    print(f"{'':44} {'median s':>9} {'least':>8} {'most':>8} {'cpu s':>8} {'MB':>7}  exit")
    check = [presync, "check", "--repo", repository]
    for name, command in [
        ("presync check", check),
        ("presync check --snapshot", [*check, "--snapshot", snapshot]),
        ("presync check --all", [*check, "--all"]),
        ("presync check --all --snapshot", [*check, "--all", "--snapshot", snapshot]),
        ("argocd-source-lint", [lint, repository]),
    ]:
        print(f"{name:44} {measure(command, options.runs)}", flush=True)
    print(f"\nload afterwards {load()}")


def install():
    """The linter in its own environment; packages whose bytes are not those of the requirements file are refused."""
    environment = FOLDER / "venv"
    if not (environment / "bin" / "argocd-source-lint").exists():
        venv.create(environment, with_pip=True, clear=True)
        pip = [environment / "bin" / "pip", "--disable-pip-version-check", "install", "--quiet"]
        run([*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", REQUIREMENTS])
    return environment / "bin" / "argocd-source-lint"


def build():
    run(["cargo", "build", "--quiet", "--release", "--bin", "presync"], cwd=ROOT)
    return TARGET / "release" / "presync"


def run(command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def version(command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout.strip()


def measure(command, runs):
    """One line: wall times, processor time and memory of the median run, and the exit code, which has to be that of a finished job."""
    once(command)
    results = sorted(once(command) for _ in range(runs))
    walls = [wall for wall, _, _, _ in results]
    _, processor, memory, code = results[len(results) // 2]
    if code not in (0, 1):
        sys.exit(f"{command[0]} could not do its job: exit code {code}")
    return f"{statistics.median(walls):9.3f} {walls[0]:8.3f} {walls[-1]:8.3f} {processor:8.3f} {memory:7.0f}  {code}"


def once(command):
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts resident memory in KiB.
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, process.returncode


def facts():
    model = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} threads, {platform.system()} {platform.release()}, Python {platform.python_version()}, load {load()}"


def load():
    return " ".join(f"{average:.2f}" for average in os.getloadavg())


if __name__ == "__main__":
    main()
