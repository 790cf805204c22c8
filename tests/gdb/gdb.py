# SPDX-License-Identifier: MIT
"""A gdb process for tests, which keeps what it has read of a program from one command to the next."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
SCRIPT = TOP / "src/gdb/tryst.py"
PROMPT = "<the next command>\n"
SETTINGS = ("set debuginfod enabled off", "set style enabled off", "set pagination off", "set width 0", "set confirm off",
            f"set prompt {PROMPT.strip()}\\n")


class Gdb:
    """Called with a command, it returns what gdb says."""

    def __init__(self, test: unittest.TestCase | type[unittest.TestCase], *arguments: str | Path) -> None:
        """Ends with the test, or after all tests of a class."""
        before = [each for setting in SETTINGS for each in ("-iex", setting)]
        self.process = subprocess.Popen(["gdb", "-nx", "-q", *before, *arguments], text=True,
                                        env=os.environ | {"LC_ALL": "C.UTF-8"}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        (test.addClassCleanup if isinstance(test, type) else test.addCleanup)(self.process.communicate)
        self.said_first = self._said()

    def __call__(self, command: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._said()

    def _said(self) -> str:
        text = ""
        assert self.process.stdout
        while not text.endswith(PROMPT):
            line = self.process.stdout.readline()
            assert line, f"gdb has ended: {text}"
            text += line
        assert "Traceback" not in text and "Python Exception" not in text, text
        return text.removesuffix(PROMPT)
