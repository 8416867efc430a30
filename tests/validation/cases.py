"""Published and measured numbers, copied so that the repository stands alone."""

import json
from pathlib import Path

CASES = {case["id"]: case for case in json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))}
