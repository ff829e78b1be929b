"""Uploads the findings to code scanning."""
import base64
import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workflow import Api, Refused, event, is_fork, one_of, say, text  # noqa: E402


def main():
    mode = one_of("INPUT_SARIF", "auto", "true", "false")
    path = text("SARIF_FILE")
    if mode == "false" or not path:
        return
    if mode == "auto" and (not text("INPUT_TOKEN") or is_fork(event())):
        print("no upload to code scanning: the token may only read")
        return
    packed = gzip.compress(Path(path).read_bytes(), mtime=0)
    body = {"commit_sha": text("GITHUB_SHA"), "ref": text("GITHUB_REF"), "sarif": base64.b64encode(packed).decode(), "tool_name": "presync"}
    try:
        Api(text("INPUT_TOKEN")).call("POST", "code-scanning/sarifs", body)
    except Refused as refused:
        message = f"the findings cannot be uploaded to code scanning: {refused} (it needs the permission security-events: write, and code scanning)"
        if mode == "true":
            say("error", message)
            sys.exit(2)
        print(message)


if __name__ == "__main__":
    main()
