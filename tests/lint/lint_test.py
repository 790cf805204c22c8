#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each script beside this one accepts files that keep its rules, and names the rule that a changed copy breaks."""

import tempfile
import unittest
from pathlib import Path
from types import ModuleType

import invariants
import layout
import links
import memory_orders
import messages
import presets
import recipes

TOP = Path(__file__).resolve().parents[2]
Files = dict[str, str]
# What a row changes: the text of a file, a part of it and what comes in its place, or None for no file.
Changes = dict[str, str | tuple[str, str] | None]
MORE = object()  # after complaints: there may be others


def copies(*names: str) -> Files:
    """Files and folders of this repository."""
    paths = [path for name in names for path in ((TOP / name).rglob("*") if (TOP / name).is_dir() else [TOP / name])]
    return {str(path.relative_to(TOP)): path.read_text() for path in paths if path.is_file()}


def changed(files: Files, changes: Changes) -> Files:
    result = dict(files)
    for name, change in changes.items():
        if change is None:
            del result[name]
        elif isinstance(change, str):
            result[name] = change
        else:
            assert change[0] in files[name], f"{name}: {change[0]}"
            result[name] = files[name].replace(*change, 1)
    return result


def complaints(script: ModuleType, files: Files) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        for file, text in files.items():
            (top / file).parent.mkdir(parents=True, exist_ok=True)
            (top / file).write_text(text)
        return list(script.complaints(top))


class Scripts(unittest.TestCase):
    def check(self, script: ModuleType, good: Files, *rows: tuple) -> None:
        """A row: what it changes, and a part of each complaint."""
        self.assertEqual(complaints(script, good), [])
        for changes, *expected in rows:
            with self.subTest(changes):
                found = complaints(script, changed(good, changes))
                if MORE not in expected:
                    self.assertEqual(len(found), len(expected), found)
                for each in expected:
                    self.assertTrue(each is MORE or any(each in one for one in found), (each, found))

    def test_invariants(self) -> None:
        slot, other = "include/tryst/slot.hpp", "docs/other.md"
        good = {slot: """
/* The slot
 * I1. Only the winner touches the waiter.
 *
 * I2. The exchanger outlives every withdrawal.
 *     1. A withdrawer announces itself.
 *     2. A completer pins the exchanger.
 *
 * Not handled:
 *     3. fairness */
void claim(); // nothing is dereferenced (I1); the exchanger is alive (I2.2)
"""}
        self.check(
            invariants, good,
            ({other: "A waiter is used after its end (I1), I2.1 to I2.2; not: SI9, I9x, [I9] and 1.I9"},),
            ({"src/uring/other.md": "// I1. Again."}, f"src/uring/other.md:1: I1 is defined at {slot}:3, too"),
            ({slot: ("I1. Only", "I3. Only")}, "I1 is not defined, but a higher number is", MORE),
            *(({f"{folder}/other.md": "see I3"}, f"{folder}/other.md:1: I3 is not defined")
              for folder in ("include/tryst", "src/uring", "tests/spin", "tests/model", "docs/adr")),
            ({other: "see I1.1, I2.3"}, f"{other}:1: I1.1 is not defined", f"{other}:1: I2.3 is not defined"),
            ({slot: ""}, "no invariant is defined"))
        slot = "include/tryst/detail/meet/slot.hpp"
        self.check(
            invariants, copies("include", "src", "docs/inside.md", "tests/mutants", "tests/spin", "tests/lint", "tests/unit", "tests/adapters"),
            ({slot: ("I1. A partner", "I1. Any partner")}, "docs/inside.md is not what the sources say"),
            ({slot: (" I1. ", " I99. ")}, "I1 is in BROKEN_BY, but not defined", "I99 is not in BROKEN_BY", MORE))

    def test_layout(self) -> None:
        header = "include/tryst/word.hpp"
        long = "//" + 99 * "x" + "\n"
        self.check(
            layout, {header: "// " + 97 * "é" + "\n"},
            ({header: f"\n{long}"}, f"{header}:2: 101 columns; wrap the line at 100"),
            *(({name: long}, f"{name}:1: 101 columns")
              for name in ("src/uring/a.cpp", "tests/unit/a.cpp", "examples/a.cpp", "bench/a/b.hpp")),
            ({"docs/page.md": f"{long}```text\n{long}```\n{long}```cpp\n{long}```\n{long}"}, "docs/page.md:7: 101 columns"),
            ({header: "    // clang-format off\nint  a;\n    // clang-format on\n"},
             f"{header}:1: clang-format is switched off; let it format this code"),
            ({header: None, "docs/page.md": "x"}, "no C++ sources found"))

    def test_links(self) -> None:
        good = {
            "search/a picture.svg": "<svg/>",
            "other.html": '<a name="end"></a>',
            "page.html": """<html><img src="search/a%20picture.svg"/>
<a href="other.html#end">x</a><a href="#here">x</a><h1 id="here">x</h1><a href="https://example.org/#x">x</a>
"""}
        self.check(
            links, good,
            ({"page.html": ("search/a%20picture.svg", "b.svg")}, "page.html:1: b.svg: there is no such file"),
            ({"page.html": ("other.html", "none.html")}, "page.html:2: none.html#end: there is no such file"),
            ({"page.html": ("other.html#end", "/etc/passwd")}, "page.html:2: /etc/passwd: there is no such file"),
            ({"page.html": ("#end", "#start")}, "page.html:2: other.html#start: the page has no such anchor"),
            ({"page.html": ('id="here"', 'id="there"')}, "page.html:2: #here: the page has no such anchor"),
            ({"page.html": None, "other.html": None}, "no HTML pages found"))

    def test_memory_orders(self) -> None:
        word = "include/tryst/detail/meet/word.hpp"
        code = """
struct word {
    void set() {
        // [A1] release, pairs with [A2]: what came before.
        word_.store(1, std::memory_order_release);
    }
    bool get() const {
        // [A2] acquire, pairs with [A1].
        return word_.load(std::memory_order_acquire) == 1;
    }
    bool take(int seen) {
        seen = 1;
        // Relaxed: only a count. Failure relaxed: retried.
        return word_.compare_exchange_strong(
            seen, 0, std::memory_order_relaxed, std::memory_order_relaxed);
    }
    int count() { return count_.fetch_add(1, std::memory_order_relaxed); } // Relaxed: only a count.
};
"""
        labelled, unlabelled = "// [A2] acquire, pairs with [A1].", "// Acquire."
        files = ["include/tryst/word.hpp", "include/tryst/detail/run/word.hpp", "include/tryst/asio/detail/word.hpp",
                 "include/tryst/fiber/word.hpp", "include/tryst/uring/word.hpp", "include/tryst/uring/detail/word.hpp",
                 "src/uring/word.hpp", "src/uring/word.cpp"]
        self.check(
            memory_orders, {word: code, "tests/spin/word.pml": "/* [A1] */"},
            ({word: (labelled, unlabelled)}, f"{word}:9: load: no label", MORE),
            ({word: ("[A2] acquire, pairs with [A1]", "[A1] acquire, pairs with itself")}, "is the label of", MORE),
            ({word: ("[A2] acquire,", "[A2] release,")}, "does not say why acquire"),
            ({word: (", pairs with [A1].", ".")}, "names no partner", MORE),
            ({word: ("pairs with [A2]", "pairs with itself")}, "does not name [A2]", MORE),
            ({word: ("memory_order_acquire) == 1", "memory_order_release) == 1")}, "neither acquires", MORE),
            ({word: ("); } // Relaxed: only a count.", "); }")}, "no reason for the relaxed order"),
            ({word: (" Failure relaxed: retried.", "")}, "relaxed order on failure"),
            ({word: ("memory_order_relaxed);\n    }", "memory_order_acquire);\n    }")}, "Failure acquire", MORE),
            ({word: ("std::memory_order_relaxed, std::memory_order_relaxed", "std::memory_order_relaxed")},
             "not every memory order"),
            ({word: ("load(std::memory_order_acquire)", "load()")}, "not every memory order", MORE),
            *(({word: None, file: code},) for file in files),
            *(({word: None, file: code.replace(labelled, unlabelled)}, f"{file}:9: load: no label", MORE) for file in files),
            ({"tests/spin/word.pml": "/* [B1] */"}, "no operation has the label [B1]"),
            ({word: "", "tests/spin/word.pml": ""}, "no atomic operation found"))

    def test_messages(self) -> None:
        header, source, page = "include/tryst/word.hpp", "src/redis/link.cpp", messages.PAGE
        good = {
            header: r"""
// "tryst: a comment"
static_assert(good, "tryst: pass an rvalue: "
                    "f(1'000, \"x\"), or "
                    /* joined */ "f(std::move(a))");
case exchange_errc::closed: return "it is closed";
assert(ok && "tryst: x happened (a bug in tryst)");
template <text Instead = "await it"> operator Tag() const = delete;
""",
            source: """
throw std::runtime_error((late ? "is late: " : "is no server: ") + text + "more");
die("cannot run ", name, " here");
log("starts");
""",
            page: """# Messages
| Error | Cause and cure |
| --- | --- |
| `await it` | x |
| `is late: ...` | x |
| `is no server: ...` | x |
| `it is closed` | x |

| Error | Cause and cure |
| --- | --- |
| `starts` | not needed, but there |
| `tryst: cannot run ...` | x |
| `tryst: pass an rvalue: f(1'000, "x"), or f(std::move(a))` | x |
"""}
        self.check(
            messages, good,
            *(({page: (f"| `{row}` | x |\n", "")}, f"{where}: {page} does not explain: {text}")
              for row, where, text in (
                  ("await it", f"{header}:8", "await it"),
                  ("is late: ...", f"{source}:2", "is late:"),
                  ("is no server: ...", f"{source}:2", "is no server:"),
                  ("it is closed", f"{header}:6", "it is closed"),
                  ("tryst: cannot run ...", f"{source}:3", "tryst: cannot run"),
                  ("""tryst: pass an rvalue: f(1'000, "x"), or f(std::move(a))""", f"{header}:3", "tryst: pass an rvalue: f("))),
            ({header: ("or ", "and ")}, f"{header}:3: {page} does not explain", f"{page}:13: no message of the sources"),
            ({source: ('"more"', '"more"); check("tryst: new"')}, f"{source}:2: {page} does not explain: tryst: new"),
            ({page: ("| `await it` | x |\n", "| `await it` | x |\n| `a wait` | x |\n")},
             f"{page}:5: not in alphabetical order: a wait", f"{page}:5: no message of the sources: a wait"),
            ({header: "", source: "", page: ""}, "no messages found"))

    def test_presets(self) -> None:
        file, option, compiler = "CMakePresets.json", "TRYST_WARNINGS_AS_ERRORS", '"CMAKE_CXX_COMPILER": "g++",'
        on, off = f'"{option}": true', f'"{option}": false'
        too = "a warning would be an error for users, too"
        self.check(
            presets, copies(file, "CMakeLists.txt", "bench/CMakeLists.txt", "cmake", "packaging"),
            ({file: (compiler, f"{compiler} {on},")},
             *(f"{file}: {name} is for users, and must not set {option}" for name in ("examples", "release"))),
            ({file: (f"{off},", "")}, f"{file}: package is for users, and must not set {option}"),
            ({file: (on, off)},
             *(f"{file}: {name} is for developers, and must set {option}" for name in ("dev", "tsan")), MORE),
            ({file: ('"name": "examples"', '"name": "show"')},
             f"{file}: there is no preset examples; correct the list of users' presets", MORE),
            ({presets.DEFINED: ('as errors" OFF)', 'as errors" ON)')}, f"{presets.DEFINED}: {option} must be off by default"),
            ({"cmake/redis.cmake": ("if(", "add_compile_options(-Werror)\nif(")}, too),
            ({"packaging/debian/rules": ("#!", "#! -DTRYST_WARNINGS_AS_ERRORS=ON")}, too),
            ({"bench/CMakeLists.txt": ("find_package", f"set({option} ON)\nfind_package")}, too))

    def test_recipes(self) -> None:
        cmake, option = "CMakeLists.txt", 'option(TRYST_URING "'
        vcpkg, conan, control = recipes.VCPKG, recipes.CONAN, recipes.CONTROL
        self.check(
            recipes, copies(cmake, "dev", vcpkg, conan, control, recipes.CHANGELOG),
            ({cmake: (option, f'option(TRYST_NEW "Provide tryst::new (New)" OFF)\n{option}')},
             f"{vcpkg}: add feature new", f"{conan}: add option new"),
            ({cmake: (option, "# ")}, f"{vcpkg}: remove feature uring", f"{conan}: remove option uring"),
            ({"dev": ("adapters=(", "adapters=(libnew-dev ")}, f"{control}: add build dependency libnew-dev"),
            ({cmake: ("VERSION 0.", "VERSION 7.")},
             *(f"{where}: version" for where in (vcpkg, conan, recipes.CHANGELOG))),
            ({vcpkg: ('"license"', '"licence"')}, f"{vcpkg}: a port has no field licence"),
            ({vcpkg: ('"description": "tryst::u', '"summary": "tryst::u')}, f"{vcpkg}: a feature has no field summary"),
            ({vcpkg: ('"host": true', '"hosted": true')}, f"{vcpkg}: a dependency has no field hosted"))


if __name__ == "__main__":
    unittest.main()
