"""Writes the report into the job summary and into the comment on the pull request, which is found by a hidden marker and edited in place."""
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workflow import Api, Refused, event, fail, is_fork, one_of, say, summarise, text  # noqa: E402

LIMIT = 65_536
WRITERS = ("OWNER", "MEMBER", "COLLABORATOR")


def main():
    mode = one_of("INPUT_COMMENT", "true", "changes-only", "always-new", "false")
    wants_summary = one_of("INPUT_SUMMARY", "true", "false") == "true"
    if not text("MARKDOWN_FILE"):
        return
    body = Path(text("MARKDOWN_FILE")).read_text(encoding="utf-8")
    written = publish(mode, body)
    if wants_summary or not written:
        summarise(body)


def publish(mode, body):
    """Comments; `False` where a comment was wanted and could not be written."""
    happened = event()
    number = (happened.get("pull_request") or {}).get("number")
    if mode == "false" or not number:
        return True
    identity = text("INPUT_COMMENT_ID", "presync")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", identity):
        fail("the input comment-id has letters, digits, - and _ only, at most 64")
    if not text("INPUT_TOKEN"):
        say("notice", "no comment: the input token is empty. The report is in the job summary")
        return False
    marker = f"<!-- presync:comment:{identity} -->"
    body = fitting(f"{marker}\n{body}")
    api = Api(text("INPUT_TOKEN"))
    try:
        existing = None if mode == "always-new" else find(api, number, marker)
        if existing:
            api.call("PATCH", f"issues/comments/{existing}", {"body": body})
        elif mode != "changes-only" or something_happens():
            api.call("POST", f"issues/{number}/comments", {"body": body})
    except Refused as refused:
        why = "a pull request from a fork gets a token that only reads" if is_fork(happened) else "it needs the permission pull-requests: write"
        advice = f" ({why})" if refused.status in (401, 403, 404) else ""
        say("notice", f"the comment cannot be written: {refused}{advice}. The report is in the job summary")
        return False
    return True


def find(api, number, marker):
    """The newest comment of ours. Whoever cannot write to the repository cannot leave one that is taken for it."""
    found = None
    page = 1
    while True:
        comments = api.call("GET", f"issues/{number}/comments?per_page=100&page={page}")
        for comment in comments:
            ours = (comment.get("user") or {}).get("type") == "Bot" or comment.get("author_association") in WRITERS
            if ours and (comment.get("body") or "").startswith(marker):
                found = comment["id"]
        if len(comments) < 100:
            return found
        page += 1


def something_happens():
    report = json.loads(Path(text("JSON_FILE")).read_text(encoding="utf-8"))
    acts = any(change["action"] != "none" for application in report["applications"] for change in application["changes"])
    return acts or any("suppressed" not in finding for finding in report["findings"]) or bool(report["unjudged"])


def fitting(body):
    """The report fits already; should it not, its head is better than no comment."""
    if length(body) <= LIMIT:
        return body
    head = body.split("\n### ", 1)[0][: LIMIT // 2]
    return f"{head}\n\nThe report is too long for a comment: it is in the summary of the job.\n"


def length(body):
    return len(body.encode("utf-16-le")) // 2


if __name__ == "__main__":
    main()
