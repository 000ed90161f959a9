"""Object data on a running Ray cluster; run again, it goes on where it was stopped."""

import os

from kin4d.cli import main

os.environ.setdefault("RAY_ADDRESS", "auto")
raise SystemExit(main(["data", "objects", "-o", "store", "--count", "200000", "--cluster"]))
