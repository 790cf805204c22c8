#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the invariants that comments in the library define and cite, and lists them in docs/inside.md.

    invariants.py TOP
    invariants.py TOP --write  writes the list

 1. A definition begins a line of a comment in include/ or src/: `I5. The exchanger outlives ...`. Steps of its
    argument may follow up to the next empty line: `1. A withdrawer ...`.
 2. Each invariant is defined once. Their numbers have no gaps.
 3. A citation names an invariant that is defined, `I5`, or a step of one, `I5.2`. Citations are looked for in
    include/, src/, tests/spin, tests/model and docs.
 4. BROKEN_BY names for each invariant what a check finds without it: a mutant of tests/mutants or tests/spin, or a
    test. The list in docs/inside.md is made of the definitions and of this.
"""

import re
import sys
from pathlib import Path
from typing import Iterator

from script import run

DEFINING = ("include", "src")
CITING = (*DEFINING, "tests/spin", "tests/model", "docs")
DEFINITION = re.compile(r"\s*(?:/?\*|///?) (I\d+)\. ")
STEP = re.compile(r"\s*(?:\*|///?) +(\d+)\. ")
EMPTY = re.compile(r"\s*(?:\*|///?)?\s*")
CITATION = re.compile(r"(?<![\w.\[])I\d+(?:\.\d+)?(?![\w\]])")
PAGE = "docs/inside.md"
LIST = re.compile(r"(?<=<!-- invariants: made by tests/lint/invariants.py -->\n).*(?=<!-- end of invariants -->)", re.DOTALL)
TEXT = {"", ".cpp", ".h", ".hpp", ".md", ".pml", ".py", ".txt"}


# What breaks an invariant, and is found: a mutant of tests/mutants; one of tests/spin, as MODEL: NAME; or else a test.
BROKEN_BY = {
    "I1": "a claim reads the waiter before its compare-exchange",
    "I2": "an expired offer parks in the arena",
    "I3": "queue: close: empty cells stay empty",
    "I4": "elimination: no arrival looks at the stack first",
    "I5": "the exchanger is not pinned",
    "I6": "close: it lets go of the exchanger before the last waiter is complete",
    "I7": "pool: changes of the head are not counted",
    "I8": "Q6: split into load and store",
    "I9": "queue: a segment that was allocated late gets an old ticket",
    "I10": "queue: a segment is released although a cell is not finished",
    "I11": "stack: an arrival pushes on the other colour",
    "I12": "stack: a place that was left is used twice",
    "I13": "mailbox: the wake-up is dropped",
    "I14": "parker: the token is not taken",
    "I15": "event_loop: every stop posts",
    "I16": "T1: split into load and store",
    "I17": "tests/adapters/asio/task_executor_test.cpp",
    "I18": "tests/adapters/asio/task_executor_test.cpp",
    "I19": "tests/adapters/asio/asio_stress.cpp",
    "I20": "asio: the offer stays when the context ends",
    "I21": "suspended_operation: UNLINKS",
    "I22": "asio: a waker queues in a context that has ended",
    "I23": "suspended_operation: NODRAIN",
    "I24": "rundown: a thread looks before it enters",
    "I25": "tests/adapters/asio/asio_stress.cpp",
    "I26": "tests/adapters/fiber/fiber_stress.cpp",
    "I27": "tests/adapters/fiber/fiber_wait_test.cpp",
    "I28": "tests/adapters/fiber/migrating_fiber_test.cpp",
    "I29": "tests/adapters/uring/context_test.cpp",
    "I30": "tests/adapters/uring/fault_test.cpp",
    "I31": "uring: NUMBERS_LATE",
    "I32": "uring: SLEEP_OWED",
    "I33": "uring: WAKE_BOTH",
    "I34": "uring: LEAVE_REFUSED",
    "I35": "tests/adapters/uring/cancellation_test.cpp",
    "I36": "uring: a destroyed frame does not wait for the kernel",
    "I37": "uring: an operation ends before the answer to its cancellation",
    "I38": "uring: a posted stop and a completion resume twice",
    "I39": "the check is posted twice",
    "I40": "asio: a matched exchange is disposed of twice at the end",
    "I41": "select: a closer decides when it completes",
    "I42": "select: a completer does not wait for the end of a registration",
    "I43": "T2: split into load and store",
    "I44": "T2: split into load and store",
    "I45": "tests/unit/destroyed_while_waiting_test.cpp",
    "I46": "B2: split into load and store",
    "I47": "tests/unit/when_any_test.cpp",
    "I48": "executor: the destructor does not wait for a poster",
    "I49": "thread numbers: two threads get one number",
    "I50": "counters: a canceller does not pin the exchanger",
    "I51": "buffer: a receiver that makes room admits nobody",
    "I52": "buffer: a section takes no lock",
    "I53": "buffer: a party does not commit",
    "I54": "buffer: a batch passes a sender that waits",
    "I55": "buffer: a party admits others before it is decided",
    "I56": "buffer: a batch does not pin the channel",
    "I57": "future: the promise keeps its token",
    "I58": "future: the end of the future reads the promise without the lock",
    "I59": "future: an item is taken twice",
    "I60": "asio: an executor's own step runs next",
    "I61": "select: a late event outlives its selection",
    "I62": "set: a case is handed back whatever the state",
    "I63": "set: no set yields",
    "I64": "set: the end of an object waits for no set",
}


def lines_of(top: Path, folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each line of the text files: where it is, and its text."""
    for folder in folders:
        for path in sorted((top / folder).rglob("*")):
            if path.is_file() and path.suffix in TEXT:
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    yield f"{path.relative_to(top)}:{number}", line


def definitions(top: Path) -> tuple[dict[str, str], list[str]]:
    """Where each invariant and each step of one is defined; and complaints."""
    defined: dict[str, str] = {}
    wrong = []
    current = ""  # the invariant whose steps may follow
    for where, line in lines_of(top, DEFINING):
        if found := DEFINITION.match(line):
            current = found[1]
            if current in defined:
                wrong.append(f"{where}: {current} is defined at {defined[current]}, too")
            defined.setdefault(current, where)
        elif EMPTY.fullmatch(line):
            current = ""
        elif current and (found := STEP.match(line)):
            defined.setdefault(f"{current}.{found[1]}", where)
    return defined, wrong


def complaints(top: Path) -> Iterator[str]:
    defined, wrong = definitions(top)
    yield from wrong
    numbers = {int(name[1:]) for name in defined if "." not in name}
    for missing in sorted(set(range(1, max(numbers, default=0) + 1)) - numbers):
        yield f"I{missing} is not defined, but a higher number is"
    if not numbers:
        yield f"{top}: no invariant is defined"
    for where, line in lines_of(top, CITING):
        for name in CITATION.findall(line):
            if name not in defined:
                yield f"{where}: {name} is not defined"
    if (top / PAGE).exists():
        yield from complaints_about_list(top, defined)


def complaints_about_list(top: Path, defined: dict[str, str]) -> Iterator[str]:
    names = {name for name in defined if "." not in name}
    for name in sorted(names ^ BROKEN_BY.keys()):
        yield f"{name} is {'not in BROKEN_BY' if name in names else 'in BROKEN_BY, but not defined'}"
    sys.path.append(str(top / "tests/mutants"))
    from adapters import adapters  # noqa: PLC0415: where the repository is, is known here
    from mutants import all_mutants  # noqa: PLC0415
    known = {mutant.name for mutant in (*all_mutants(top / "include/tryst"), *adapters()) if not mutant.known}
    spin = (top / "tests/spin/run").read_text()
    for name, by in BROKEN_BY.items():
        model, _, mutant = by.partition(": ")
        if by not in known and not (top / by).is_file() and f"\n    {mutant}: " not in spin:
            yield f"{name}: {by} is neither a mutant nor a test"
    if names == BROKEN_BY.keys() and f"{list_of(top, defined)}\n" != LIST.search((top / PAGE).read_text())[0]:
        yield f"{PAGE} is not what the sources say: run tests/lint/invariants.py . --write"


def first_sentence(top: Path, where: str) -> str:
    file, _, line = where.rpartition(":")
    words = []
    for text in (top / file).read_text().splitlines()[int(line) - 1:]:
        words += re.sub(r"^\s*(?:/?\*|///?)|\*/$", "", text).split()
        sentence = re.match(r"I\d+\. (.*?\.)(?= |$)", " ".join(words))
        if sentence:
            return sentence[1]
    raise ValueError(f"{where}: no sentence")


def list_of(top: Path, defined: dict[str, str]) -> str:
    rows = ["| | invariant | defined in | a mutant that breaks it, or its test |", "| --- | --- | --- | --- |"]
    for name, by in BROKEN_BY.items():
        file = defined[name].rpartition(":")[0]
        model, _, mutant = by.partition(": ")
        check = f"[{Path(by).name}](../{by})" if (top / by).is_file() else f"`{mutant}` in {model}.pml" if mutant.isupper() else by
        short = file.removeprefix("include/tryst/")
        rows.append(f"| {name} | {first_sentence(top, defined[name])} | [{short}](../{file}) | {check} |")
    return "\n".join(rows)


if __name__ == "__main__":
    if "--write" in sys.argv:
        page = Path(sys.argv[1]) / PAGE
        defined = definitions(Path(sys.argv[1]))[0]
        page.write_text(LIST.sub(lambda _: f"{list_of(Path(sys.argv[1]), defined)}\n", page.read_text()))
    run(complaints)
