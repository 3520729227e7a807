"""``python -m ringerdb`` runs the command-line tool."""

from __future__ import annotations

import sys

from . import _core


def main() -> int:
    """Runs the arguments of this process, and returns the exit status."""
    return _core.main(["ringerdb", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
