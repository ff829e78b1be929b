"""Runs presync and sets the outputs. Whether the job fails is decided at the end, when everything was reported."""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workflow import event, fail, one_of, output, quoted, say, summarise, text  # noqa: E402

FORMATS = {"json": "json", "sarif": "sarif", "markdown": "md", "html": "html", "junit": "xml", "text": "txt", "github": "annotations"}
NO_COMMIT = "0" * 40
FULL_HISTORY = "add `fetch-depth: 0` to the `with:` of actions/checkout"


def main():
    repository = Path(text("INPUT_PATH", "."))
    if not repository.is_dir():
        fail(f"the input path names no folder: {repository}")
    base, head = revisions(repository)
    folder = Path(text("INPUT_REPORT") or Path(text("RUNNER_TEMP", tempfile.gettempdir())) / "presync-report").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"presync.{ending}" for name, ending in FORMATS.items()}
    for path in files.values():
        path.unlink(missing_ok=True)
    command = ["presync", "check", "--quiet", "--repo", str(repository)]
    command += [f"--fail-on={one_of('INPUT_FAIL_ON', 'error', 'warning', 'info', 'never')}"]
    command += [f"--min-severity={one_of('INPUT_MIN_SEVERITY', 'info', 'warning', 'error')}"]
    command += ["--strict"] if one_of("INPUT_STRICT", "false", "true") == "true" else []
    options = {"base": base, "head": head, "config": text("INPUT_CONFIG"), "max-snapshot-age": text("INPUT_SNAPSHOT_MAX_AGE")}
    command += [f"--{name}={value}" for name, value in options.items() if value]
    for option, name in (("snapshot", "INPUT_SNAPSHOT"), ("repo-url", "INPUT_REPO_URL")):
        command += [f"--{option}={line.strip()}" for line in text(name).splitlines() if line.strip()]
    command += [f"--report={name}={path}" for name, path in files.items()]
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE)
    except OSError as error:
        fail(f"cannot run presync: {error}")
    trouble = done.stderr.decode("utf-8", "replace").strip()
    if trouble:
        quoted(trouble)
    if done.returncode not in (0, 1) or not files["json"].is_file():
        summarise(f"## ❌ presync could not do its job\n\n{block(trouble)}")
        output(exit_code=2)
        say("error", f"presync could not do its job: {plain(trouble)}")
        return
    report(done.returncode, files, folder)


def report(code, files, folder):
    quoted(files["text"].read_text(encoding="utf-8"))
    if one_of("INPUT_ANNOTATIONS", "true", "false") == "true":
        print(files["github"].read_text(encoding="utf-8"), end="", flush=True)
    files["github"].unlink()
    content = json.loads(files["json"].read_text(encoding="utf-8"))
    counts = content["summary"]
    output(
        exit_code=code,
        verdict=content["verdict"],
        findings=counts["errors"] + counts["warnings"] + counts["infos"],
        errors=counts["errors"],
        warnings=counts["warnings"],
        creates=counts["create"],
        updates=counts["update"],
        prunes=counts["prune"],
        deletes=counts["delete"],
        retained=counts["retain"],
        leftovers=counts["leftover"],
        apps_affected=counts["applications"],
        unjudged=counts["unjudged"],
        report_folder=folder,
        **{f"{name}_file": path for name, path in files.items() if name not in ("text", "github")},
    )


def block(content):
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{content}\n{fence}\n"


def plain(content):
    """What presync says, without the drawing around it."""
    lines = [re.sub(r"^[\s×│╰─▶·]+", "", line) for line in content.splitlines()[1:]]
    return " ".join(line for line in lines if line) or "it said nothing"


def revisions(repository):
    """Base and head, with the commits fetched that a shallow checkout lacks."""
    base, head = text("INPUT_BASE"), text("INPUT_HEAD")
    happened = event()
    pull = happened.get("pull_request") or {}
    if not base and pull:
        base = pull["base"]["sha"]
        if not head and is_merge_of(repository, pull):
            # The checkout is GitHub's test merge: what is compared is that merge with its first parent.
            if not is_commit(repository, "HEAD^1"):
                fetch(repository, ["--depth=2", "origin", text("GITHUB_SHA")])
            base = git(repository, "rev-parse", "--verify", "--quiet", "HEAD^1") or base
    elif not base and happened.get("before") not in (None, NO_COMMIT):
        base = happened["before"]
    if not base:
        return base, head
    if base.startswith("-") or head.startswith("-"):
        fail("the inputs base and head are revisions, which do not begin with a hyphen")
    head = head or "HEAD"
    complete(repository, base, head, pull)
    return base, head


def is_merge_of(repository, pull):
    """Whether the commit that is checked out is the test merge of this pull request."""
    here = git(repository, "rev-parse", "--verify", "--quiet", "HEAD")
    return here != "" and here == text("GITHUB_SHA") and here != pull["head"]["sha"]


def complete(repository, base, head, pull):
    """Fetches until both commits are there and what they part from is known."""
    for depth in ("--depth=1", "--deepen=50", "--deepen=500", "--unshallow") if is_shallow(repository) else ("",):
        missing = [name for name in (base, head) if not is_commit(repository, name)]
        if not missing and git(repository, "merge-base", base, head):
            return
        if depth in ("", "--depth=1"):
            # A fetch with a depth shortens what is there: only what is missing is asked for.
            wanted = missing
        else:
            wanted = [base, head, *(pull[side]["sha"] for side in ("base", "head") if pull)]
        names = [name for name in dict.fromkeys(refspec(name) for name in wanted) if name]
        if names:
            fetch(repository, [depth, "origin", *names])
    for name in (base, head):
        if not is_commit(repository, name):
            fail(f"the commit {name} is not in this checkout and cannot be fetched: {FULL_HISTORY}")
    if is_shallow(repository) and not git(repository, "merge-base", base, head):
        fail(f"this checkout is too shallow to find where the change branched off: {FULL_HISTORY}")


def refspec(name):
    """What git can be asked for: a commit, or a branch of the remote; nothing else of this checkout is known there."""
    if re.fullmatch("[0-9a-f]{40}", name):
        return name
    if name.startswith("origin/"):
        return f"+refs/heads/{name[7:]}:refs/remotes/{name}"
    return ""


def fetch(repository, arguments):
    subprocess.run(
        ["git", "fetch", "--no-tags", "--quiet", "--no-write-fetch-head", *[argument for argument in arguments if argument]],
        cwd=repository,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def is_commit(repository, name):
    return git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") != ""


def is_shallow(repository):
    return git(repository, "rev-parse", "--is-shallow-repository") == "true"


def git(repository, *arguments):
    """What git says, empty where it fails."""
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    main()
