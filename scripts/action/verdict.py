"""Ends the job as presync ended."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workflow import text  # noqa: E402

if __name__ == "__main__":
    sys.exit(int(text("EXIT_CODE", "2")))
