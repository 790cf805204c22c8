# SPDX-License-Identifier: MIT
"""What the checks of the sources have in common: how they are run, and what they print."""

import sys
from pathlib import Path
from typing import Callable, Iterable


def run(complaints: Callable[[Path], Iterable[str]]) -> None:
    """Prints the complaints about the folder that the command line names; exits with 1 if there are any."""
    wrong = list(complaints(Path(sys.argv[1])))
    print("\n".join([*wrong, f"{len(wrong)} complaints"]))
    sys.exit(1 if wrong else 0)
