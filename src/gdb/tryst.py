# SPDX-License-Identifier: MIT
"""Loads gdb's pretty-printers and commands for tryst: gdb -x tryst.py, or `source tryst.py` in gdb."""

import os
import sys

import gdb

folder = os.path.dirname(os.path.abspath(__file__))
if folder not in sys.path:
    sys.path.insert(0, folder)

import tryst_gdb  # noqa: E402

tryst_gdb.register()
