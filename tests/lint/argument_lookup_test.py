#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""argument_lookup.py CLANG_QUERY: argument_lookup.py names a call that could find a function of the user's."""

import sys
import tempfile
import unittest
from pathlib import Path

from argument_lookup import complaints

clang_query = sys.argv.pop()


class ArgumentLookup(unittest.TestCase):
    def complaints_about(self, call: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "include/tryst/word.hpp"
            path.parent.mkdir(parents=True)
            path.write_text(f"""namespace tryst {{
template <class T>
void post(T&);
inline void pause() {{}}
template <class T>
struct waiter {{
    void stop();
    void leave() {{
        {call};
    }}
    int number;
    T* next;
}};
}}
""")
            return list(complaints(Path(folder), clang_query, "tryst/word.hpp", []))

    def test_names_a_call_with_an_argument_of_a_dependent_type(self) -> None:
        self.assertEqual(self.complaints_about("post(*this)"),
                         ["include/tryst/word.hpp:9: qualify post: this call may find a function of the user's"])
        self.assertEqual(len(self.complaints_about("using found = decltype(post(*next))")), 1)
        self.assertEqual(len(self.complaints_about("tryst::post(*next); post(next)")), 1)

    def test_accepts_calls_that_find_only_ours(self) -> None:
        for call in ("tryst::post(*this)", "post(number)", "pause()", "stop()", "this->stop()", "next == nullptr"):
            self.assertEqual(self.complaints_about(call), [], call)

    def test_wants_a_header_that_compiles(self) -> None:
        self.assertEqual(len(self.complaints_about("unknown(")), 1)


if __name__ == "__main__":
    unittest.main()
