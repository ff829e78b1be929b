"""What the parts of the action share: inputs, GitHub's environment files, workflow commands, and its API."""
import json
import os
import secrets
import sys
import urllib.error
import urllib.request

sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")


def text(name, default=""):
    """An environment variable; an empty one counts as not set."""
    return os.environ.get(name) or default


def one_of(name, *values):
    """An input that must have one of these values."""
    value = text(name, values[0]).strip()
    if value not in values:
        fail(f"the input {name[6:].lower().replace('_', '-')} is one of {', '.join(values)}, not {value!r}")
    return value


def data(message):
    return message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def say(level, message):
    """An annotation of the run: error, warning or notice."""
    print(f"::{level} title=presync::{data(message)}", flush=True)


def fail(message):
    say("error", message)
    sys.exit(2)


def quoted(output):
    """Prints lines in which the runner reads no workflow commands."""
    word = secrets.token_hex(16)
    print(f"::stop-commands::{word}\n{output.rstrip()}\n::{word}::", flush=True)


def output(**values):
    """Sets outputs of the step. A delimiter that nobody knows keeps a value from setting others."""
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8", newline="\n") as file:
        for name, value in values.items():
            word = secrets.token_hex(16)
            file.write(f"{name.replace('_', '-')}<<{word}\n{value}\n{word}\n")


def summarise(markdown):
    """Adds to the job summary; GitHub takes 1 MiB of a step."""
    path = text("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(markdown + "\n")


def event():
    try:
        with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
            return json.load(file)
    except (KeyError, OSError, ValueError):
        return {}


def is_fork(event):
    """Whether the pull request comes from another repository, whose runs get a token that only reads."""
    pull = event.get("pull_request") or {}
    names = [((pull.get(side) or {}).get("repo") or {}).get("full_name") for side in ("head", "base")]
    return bool(pull) and names[0] != names[1]


class Api:
    """GitHub's REST API with the token of the run."""

    def __init__(self, token):
        self.token = token
        self.url = text("GITHUB_API_URL", "https://api.github.com")
        self.repository = os.environ["GITHUB_REPOSITORY"]

    def call(self, method, path, body=None):
        """The answer to a request under the repository; raises `Refused`."""
        request = urllib.request.Request(f"{self.url}/repos/{self.repository}/{path}", method=method)
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("X-GitHub-Api-Version", "2022-11-28")
        request.add_header("User-Agent", "presync")
        request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                content = answer.read()
                return json.loads(content) if content else None
        except urllib.error.HTTPError as error:
            try:
                message = json.loads(error.read()).get("message", "")
            except (ValueError, AttributeError):
                message = ""
            raise Refused(error.code, message or error.reason) from error
        except (OSError, ValueError) as error:
            raise Refused(0, str(error)) from error


class Refused(Exception):
    """GitHub did not do what was asked."""

    def __init__(self, status, message):
        super().__init__(f"{status} {message}" if status else message)
        self.status = status
