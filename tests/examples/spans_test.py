#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/spans.cpp writes a span for each wait, as JSON.

    spans_test.py PROGRAM
"""

import json
import subprocess
import sys
import unittest


class Spans(unittest.TestCase):
    def test_one_for_each_wait(self) -> None:
        lines = subprocess.check_output([sys.argv[1]], text=True, timeout=100).splitlines()
        spans = [json.loads(line) for line in lines]
        self.assertEqual([(span["name"], span["status"]) for span in spans], [
            ("lobby", {"code": 1, "message": ""}),
            ("office", {"code": 2, "message": "the deadline passed"})])
        for span in spans:
            self.assertGreater(int(span["startTimeUnixNano"]), 0)
            self.assertGreater(int(span["endTimeUnixNano"]), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
