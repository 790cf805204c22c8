# SPDX-License-Identifier: MIT
"""gdb's pretty-printers and commands for tryst. `register` installs them; tryst.py calls it."""

from __future__ import annotations

import gdb


def register(objfile: gdb.Objfile | None = None) -> None:
    """Installs the printers, for one file of a program or for all, and the commands."""
    from . import commands, printers

    printers.register(objfile)
    commands.register()
