"""Runs the steps of action.yml as a runner does, against a stand-in for GitHub's API that records what it is asked.

    harness.py PRESYNC ROOT ACTION_JSON

PRESYNC is the program, ROOT the checkout, ACTION_JSON the content of action.yml as JSON.
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
from pathlib import Path

PRESYNC, ROOT, ACTION = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text())
SCENARIO = ROOT / "fixtures/scenarios/pvc-removed-unprotected"
REPOSITORY = "platform/fleet"


class GitHub(http.server.ThreadingHTTPServer):
    """The stand-in: comments of one pull request, code scanning, and releases."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls, self.comments, self.files, self.read_only = [], [], {}, False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def writes(self):
        return [(method, path) for method, path, _ in self.calls if method != "GET"]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        github = self.server
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")
        path = self.path.removeprefix(f"/repos/{REPOSITORY}")
        github.calls.append((self.command, path, body))
        if path in github.files:
            return self.send(200, github.files[path])
        if "/releases/" in path:
            return self.send(404, b"Not Found")
        if self.headers["Authorization"] != "Bearer secret-token":
            return self.send(401, {"message": "Bad credentials"})
        if self.command != "GET" and github.read_only:
            return self.send(403, {"message": "Resource not accessible by integration"})
        if self.command == "GET" and path.startswith("/issues/7/comments?"):
            page = int(re.search(r"[?&]page=(\d+)", path)[1])
            return self.send(200, github.comments[100 * (page - 1) : 100 * page])
        if self.command == "POST" and path == "/issues/7/comments":
            github.comments.append(comment(len(github.comments) + 1, body["body"]))
            return self.send(201, github.comments[-1])
        if self.command == "PATCH" and path.startswith("/issues/comments/"):
            found = next(entry for entry in github.comments if entry["id"] == int(path.rsplit("/", 1)[1]))
            found["body"] = body["body"]
            return self.send(200, found)
        if self.command == "POST" and path == "/code-scanning/sarifs":
            return self.send(202, {"id": "1"})
        return self.send(404, {"message": "Not Found"})

    do_GET = do_POST = do_PATCH = answer

    def send(self, status, content):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def comment(number, body, kind="Bot", association="NONE"):
    return {"id": number, "body": body, "user": {"type": kind}, "author_association": association}


class Run:
    """What the steps of one job left."""

    def __init__(self):
        self.code, self.log, self.outputs, self.used, self.summary, self.path = 0, "", {}, [], "", ""


def expression(text, context):
    """The value of `${{ … }}` for the expressions that the action uses."""

    def value(match):
        names = match[1].strip()
        if not re.fullmatch(r"[a-z_]+(\.[a-zA-Z0-9_-]+)+", names):
            raise AssertionError(f"the harness does not know {names}")
        found = context
        for name in names.split("."):
            found = found.get(name, "") if isinstance(found, dict) else ""
        return str(found)

    return re.sub(r"\$\{\{(.*?)\}\}", value, str(text))


def holds(condition, context):
    """A condition made of comparisons with '' joined by &&."""
    inner = re.fullmatch(r"\$\{\{(.*)\}\}", condition.strip())[1]
    for part in inner.split("&&"):
        name = re.fullmatch(r"\s*(\S+) != ''\s*", part)[1]
        if expression("${{ " + name + " }}", context) == "":
            return False
    return True


class ActionTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.github = GitHub()
        self.addCleanup(self.github.server_close)
        self.addCleanup(self.github.shutdown)
        self.origin = self.folder / "origin"
        self.base, self.head, self.merge = self.lay_out()
        self.checkout = self.folder / "checkout"
        self.clone(self.merge)

    def git(self, folder, *arguments):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for name in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{name}_NAME": "Test", f"GIT_{name}_EMAIL": "test@example.test", f"GIT_{name}_DATE": "2026-01-01T00:00:00Z"}
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
            environment.pop(name, None)
        done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def lay_out(self):
        """A remote with a pull request: base, two commits of the change, main moved on, and GitHub's test merge."""
        self.origin.mkdir()
        git = lambda *arguments: self.git(self.origin, *arguments)  # noqa: E731
        git("init", "--quiet", "--initial-branch=main")
        git("config", "uploadpack.allowAnySHA1InWant", "true")
        shutil.copytree(SCENARIO / "base", self.origin, dirs_exist_ok=True)
        git("add", "--all")
        git("commit", "--quiet", "--message=base")
        git("checkout", "--quiet", "-b", "change")
        for entry in self.origin.iterdir():
            if entry.name != ".git":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(SCENARIO / "head", self.origin, dirs_exist_ok=True)
        git("add", "--all")
        git("commit", "--quiet", "--message=change")
        git("commit", "--quiet", "--allow-empty", "--message=more")
        head = git("rev-parse", "HEAD")
        git("checkout", "--quiet", "main")
        (self.origin / "README").write_text("more\n")
        git("add", "--all")
        git("commit", "--quiet", "--message=main moves on")
        base = git("rev-parse", "HEAD")
        git("checkout", "--quiet", "--detach")
        git("merge", "--quiet", "--no-ff", "--message=test merge", head)
        merge = git("rev-parse", "HEAD")
        git("update-ref", "refs/pull/7/merge", merge)
        git("checkout", "--quiet", "main")
        return base, head, merge

    def clone(self, commit):
        """A checkout as actions/checkout makes it: one commit, nothing else."""
        shutil.rmtree(self.checkout, ignore_errors=True)
        self.checkout.mkdir()
        git = lambda *arguments: self.git(self.checkout, *arguments)  # noqa: E731
        git("init", "--quiet", "--initial-branch=main")
        git("remote", "add", "origin", self.origin.as_uri())
        git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit)
        git("checkout", "--quiet", "--detach", commit)

    def green(self):
        """The pull request as it is when nothing of it hurts any more."""
        shutil.rmtree(self.checkout)
        self.git(self.folder, "clone", "--quiet", self.origin.as_uri(), str(self.checkout))
        return {"base": self.base, "head": self.base}

    def event(self, fork=False):
        pull = {
            "number": 7,
            "base": {"sha": self.base, "ref": "main", "repo": {"full_name": REPOSITORY}},
            "head": {"sha": self.head, "ref": "change", "repo": {"full_name": "somebody/fleet" if fork else REPOSITORY}},
        }
        return {"pull_request": pull}

    def run_action(self, inputs=None, event=None, environment=None, steps=None):
        """Runs the steps one after the other, with the files that a runner gives each."""
        given = {"version": "installed", "repo-url": "https://git.example.test/platform/fleet.git", "snapshot": str(SCENARIO / "live"), "token": "secret-token", **(inputs or {})}
        unknown = given.keys() - ACTION["inputs"].keys()
        self.assertFalse(unknown, "no such input")
        defaults = {name: str(value.get("default", "")) for name, value in ACTION["inputs"].items()}
        context = {"inputs": defaults | given, "steps": {}, "github": {"action_ref": "v0.1.0", "action_repository": "presync/presync"}}
        run, temporary = Run(), Path(tempfile.mkdtemp(dir=self.folder))
        (temporary / "event.json").write_text(json.dumps(self.event() if event is None else event))
        base = {
            "PATH": f"{PRESYNC.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(temporary),
            "GITHUB_ACTIONS": "true",
            "CI": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": self.github.url,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_RUN_ID": "99",
            "GITHUB_SHA": self.merge,
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_BASE_REF": "main",
            "GITHUB_EVENT_PATH": str(temporary / "event.json"),
            "RUNNER_TEMP": str(temporary),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **(environment or {}),
        }
        for number, step in enumerate(ACTION["runs"]["steps"]):
            if steps and step["name"] not in steps:
                continue
            if "if" in step and not holds(step["if"], context):
                continue
            if "uses" in step:
                run.used.append((step["uses"], {name: expression(value, context) for name, value in step["with"].items()}))
                continue
            self.assertNotIn("${{", step["run"], "values reach the shell through env only")
            files = {name: temporary / f"{name}-{number}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
            for file in files.values():
                file.touch()
            values = {name: expression(value, context) for name, value in step.get("env", {}).items()}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.checkout,
                env={**base, **values, **{name: str(file) for name, file in files.items()}},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            run.log += done.stdout.decode()
            run.summary += files["GITHUB_STEP_SUMMARY"].read_text()
            run.path += files["GITHUB_PATH"].read_text()
            outputs = dict(re.findall(r"^([\w-]+)<<(?:\w+)\n(.*?)\n\w{32}$", files["GITHUB_OUTPUT"].read_text(), re.M | re.S))
            if "id" in step:
                context["steps"][step["id"]] = {"outputs": outputs}
            if done.returncode != 0:
                run.code = done.returncode
                break
        run.outputs = {name: expression(output["value"], context) for name, output in ACTION["outputs"].items()}
        return run

    def test_first_comment_then_update_in_place_then_green(self):
        inputs = {"path": ".", "sarif": "false"}
        run = self.run_action(inputs)
        self.assertEqual(run.code, 1, run.log)
        self.assertEqual(self.github.writes(), [("POST", "/issues/7/comments")])
        body = self.github.comments[0]["body"]
        self.assertTrue(body.startswith("<!-- presync:comment:presync -->\n<!-- presync:report -->\n## ❌ presync failed\n"), body)
        self.assertIn("prune-persistent-data", body)
        self.assertIn(f"/platform/fleet/blob/{self.base}/", body)
        self.assertIn("presync failed", run.summary)

        run = self.run_action(inputs)
        self.assertEqual(self.github.writes()[1:], [("PATCH", "/issues/comments/1")], run.log)

        run = self.run_action({**inputs, **self.green()})
        self.assertEqual(run.code, 0, run.log)
        self.assertEqual(self.github.writes()[2:], [("PATCH", "/issues/comments/1")])
        self.assertIn("## ✅ presync passed", self.github.comments[0]["body"])
        self.assertEqual(len(self.github.comments), 1)

    def test_outputs_files_and_annotations(self):
        run = self.run_action({"comment": "false", "sarif": "false"})
        expected = {"verdict": "fail", "errors": "1", "prunes": "1", "deletes": "0", "apps-affected": "1", "unjudged": "0"}
        self.assertEqual({name: run.outputs[name] for name in expected}, expected, run.log)
        for name in ("json-file", "sarif-file", "markdown-file", "html-file", "junit-file"):
            self.assertTrue(Path(run.outputs[name]).is_file(), name)
        self.assertNotIn("", run.outputs.values())
        self.assertRegex(run.log, r"(?m)^::error file=apps/orders/[^:]*title=presync%3A prune-persistent-data::")
        uses, inputs = run.used[0]
        self.assertRegex(uses, r"^actions/upload-artifact@[0-9a-f]{40}$")
        self.assertEqual(inputs["name"], "presync-report")
        self.assertEqual(self.github.calls, [])
        without = self.run_action({"comment": "false", "sarif": "false", "annotations": "false", "summary": "false", "artifact": ""})
        self.assertNotIn("::error file", without.log)
        self.assertEqual((without.summary, without.used), ("", []))

    def test_what_presync_prints_is_no_workflow_command(self):
        run = self.run_action({"comment": "false", "sarif": "false", "annotations": "false"})
        opened = re.search(r"(?m)^::stop-commands::(\w+)$", run.log)
        inside = run.log[opened.end() : run.log.index(f"::{opened[1]}::")]
        self.assertIn("error[prune-persistent-data]", inside)

    def test_fork_with_a_token_that_only_reads_falls_back(self):
        self.github.read_only = True
        run = self.run_action({"summary": "false"}, event=self.event(fork=True))
        self.assertEqual(run.code, 1, run.log)
        self.assertIn("a pull request from a fork gets a token that only reads", run.log)
        self.assertRegex(run.log, r"(?m)^::error file=")
        self.assertIn("presync failed", run.summary)
        self.assertEqual(self.github.comments, [])
        self.assertNotIn(("POST", "/code-scanning/sarifs"), self.github.writes())
        run = self.run_action({"fail-on": "never"}, event=self.event(fork=True))
        self.assertEqual(run.code, 0, run.log)

    def test_kinds_of_comments(self):
        self.run_action({"comment": "always-new", "sarif": "false"})
        self.run_action({"comment": "always-new", "sarif": "false"})
        self.assertEqual(self.github.writes(), [("POST", "/issues/7/comments")] * 2)
        green = self.green()
        self.github.comments.clear()
        self.github.calls.clear()
        self.run_action({"comment": "changes-only", "sarif": "false", **green})
        self.assertEqual(self.github.writes(), [])
        self.run_action({"comment": "true", "comment-id": "eu-1", "sarif": "false", **green})
        self.run_action({"comment": "true", "comment-id": "us-1", "sarif": "false", **green})
        self.assertEqual(len(self.github.comments), 2)
        self.github.calls.clear()
        self.run_action({"comment": "changes-only", "comment-id": "eu-1", "sarif": "false", **green})
        self.assertEqual(self.github.writes(), [("PATCH", "/issues/comments/1")])

    def test_a_comment_of_a_stranger_with_the_marker_is_left_alone_and_later_pages_are_read(self):
        strange = comment(1, "<!-- presync:comment:presync -->\nfake", kind="User")
        self.github.comments = [strange] + [comment(number, "other") for number in range(2, 151)]
        self.github.comments.append(comment(151, "<!-- presync:comment:presync -->\nold"))
        self.run_action({"sarif": "false"})
        self.assertEqual(self.github.writes(), [("PATCH", "/issues/comments/151")])
        self.assertEqual(strange["body"], "<!-- presync:comment:presync -->\nfake")

    def test_a_report_that_is_too_long_becomes_a_short_comment(self):
        markdown = self.folder / "long.md"
        markdown.write_text("<!-- presync:report -->\n## ❌ presync failed\n\n**9 errors**\n\n### ❌ 9 errors\n" + "- 🦀\n" * 30_000)
        environment = {"MARKDOWN_FILE": str(markdown)}
        step = next(step for step in ACTION["runs"]["steps"] if step["name"] == "Comment")
        kept = dict(step["env"])
        step["env"] = {name: value for name, value in kept.items() if name != "MARKDOWN_FILE"}
        self.addCleanup(step.update, env=kept)
        run = self.run_action(environment=environment, steps=["Comment"])
        body = self.github.comments[0]["body"]
        self.assertLessEqual(len(body), 65_536)
        self.assertIn("**9 errors**", body)
        self.assertIn("summary of the job", body)
        self.assertIn("🦀", run.summary)

    def test_code_scanning_gets_the_log_packed_with_commit_and_ref(self):
        run = self.run_action({"comment": "false"})
        [(_, _, body)] = [call for call in self.github.calls if call[1] == "/code-scanning/sarifs"]
        self.assertEqual((body["commit_sha"], body["ref"]), (self.merge, "refs/pull/7/merge"))
        log = json.loads(gzip.decompress(base64.b64decode(body["sarif"])))
        self.assertEqual(log["version"], "2.1.0")
        self.assertEqual(log["runs"][0]["results"][0]["ruleId"], "prune-persistent-data")
        self.assertEqual(run.code, 1)
        self.github.read_only = True
        self.assertEqual(self.run_action({"comment": "false", "fail-on": "never"}).code, 0)
        self.assertEqual(self.run_action({"comment": "false", "fail-on": "never", "sarif": "true"}).code, 2)

    def test_missing_commits_of_a_shallow_checkout_are_fetched(self):
        for commit, sha in ((self.merge, self.merge), (self.head, self.merge)):
            self.clone(commit)
            run = self.run_action({"comment": "false", "sarif": "false"}, environment={"GITHUB_SHA": sha})
            self.assertEqual(run.code, 1, run.log)
            report = json.loads(Path(run.outputs["json-file"]).read_text())
            self.assertEqual([finding["rule"] for finding in report["findings"]], ["prune-persistent-data"])

    def test_what_cannot_be_fetched_is_said_with_the_exact_setting(self):
        self.git(self.checkout, "remote", "set-url", "origin", str(self.folder / "nowhere"))
        run = self.run_action({"comment": "false"})
        self.assertEqual(run.code, 2)
        self.assertIn("add `fetch-depth: 0` to the `with:` of actions/checkout", run.log)

    def test_a_job_that_cannot_be_done_fails_and_says_why(self):
        run = self.run_action({"snapshot": "no-such-file.zst"})
        self.assertEqual(run.code, 2, run.log)
        self.assertRegex(run.log, r"(?m)^::error title=presync::presync could not do its job: .*no-such-file.zst")
        self.assertIn("no-such-file.zst", run.summary)
        self.assertEqual(self.github.calls, [])

    def test_inputs_are_checked_and_never_reach_a_shell(self):
        hostile = "$(touch injected)`touch injected`;touch injected\n::error::injected"
        for name in ("comment", "fail-on", "min-severity", "sarif", "annotations", "comment-id", "base", "path", "version"):
            run = self.run_action({name: hostile})
            self.assertNotEqual(run.code, 0, name)
            self.assertFalse((self.checkout / "injected").exists())
            self.assertNotRegex(run.log, r"(?m)^::error::injected")
        self.assertNotEqual(self.run_action({"base": "--upload-pack=touch injected"}).code, 0)
        self.assertFalse((self.checkout / "injected").exists())

    def test_no_step_shows_the_token(self):
        self.assertNotIn("secret-token", self.run_action().log)

    def release(self, program, checksum=None):
        """Serves a release whose program is the given text."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            entry = tarfile.TarInfo("presync")
            entry.size, entry.mode = len(program), 0o755
            archive.addfile(entry, io.BytesIO(program))
        name = f"presync-{os.uname().machine}-unknown-linux-musl.tar.gz"
        place = "/presync/presync/releases/download/v0.1.0"
        self.github.files[f"{place}/{name}"] = packed.getvalue()
        self.github.files[f"{place}/SHA256SUMS"] = f"{checksum or hashlib.sha256(packed.getvalue()).hexdigest()}  {name}\n".encode()

    def tool(self, name, script):
        folder = self.folder / "tools"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/usr/bin/env bash\n{script}\n")
        (folder / name).chmod(0o755)
        return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}

    def test_a_release_is_installed_after_its_checksum_and_attestation_were_verified(self):
        self.release(b"#!/bin/sh\necho installed\n")
        path = self.tool("gh", 'echo "$@" > "$HOME/gh-was-asked"; cat "$3" > /dev/null')
        run = self.run_action({"version": ""}, environment=path, steps=["Install presync"])
        self.assertEqual(run.code, 0, run.log)
        program = Path(run.path.strip()) / "presync"
        self.assertEqual(subprocess.run([program], capture_output=True, text=True).stdout, "installed\n")
        asked = next(self.folder.glob("*/gh-was-asked")).read_text()
        self.assertRegex(asked, r"^attestation verify \S+ --repo presync/presync$")
        refused = self.run_action({"version": "0.1.0"}, environment=self.tool("gh", "exit 1"), steps=["Install presync"])
        self.assertEqual(refused.code, 2)
        self.assertIn("attestation", refused.log)

    def test_a_wrong_checksum_installs_nothing(self):
        self.release(b"#!/bin/sh\n", checksum="0" * 64)
        run = self.run_action({"version": "0.1.0"}, environment=self.tool("cargo", "exit 0"), steps=["Install presync"])
        self.assertEqual((run.code, run.path), (2, ""))
        self.assertIn("checksum", run.log)

    def test_without_a_release_cargo_builds(self):
        cargo = 'for last; do :; done; echo "$@" > "$HOME/cargo-was-asked"; while [ "$1" != --root ]; do shift; done; mkdir -p "$2/bin"; echo built > "$2/bin/presync"'
        run = self.run_action({"version": "0.2.0"}, environment=self.tool("cargo", cargo), steps=["Install presync"])
        self.assertEqual(run.code, 0, run.log)
        self.assertEqual((Path(run.path.strip()) / "presync").read_text(), "built\n")
        asked = next(self.folder.glob("*/cargo-was-asked")).read_text()
        self.assertRegex(asked, r"^install --locked --root \S+ presync --version 0.2.0$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
