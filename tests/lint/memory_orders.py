#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the labels and reasons of the atomic operations in the headers of the core and of the adapters.

    memory_orders.py TOP

 1. Every operation gives its memory order; a compare-exchange gives two.
 2. An operation with an order other than relaxed has a label of its own at the start of its comment, says
    `acquire` and `release` as its orders do, and names its partners: `[S2] acquire, pairs with [S1]: ...`.
 3. Partners name each other, and one of the two releases what the other acquires.
 4. A relaxed order, that of a failed compare-exchange too, has a reason: `Relaxed: ...`, `Failure relaxed: ...`.
 5. Labels in these files, in tests/spin, tests/README.md and docs are labels of operations.

Which comment belongs to an operation: see atomics.py.
"""

import re
from pathlib import Path
from typing import Iterator

from atomics import Operation, adapter_sources, core_headers, operations
from script import run

LABEL = r"\[[A-Z]\d+\]"
ITEM = rf"(?:{LABEL}|itself)"
PARTNERS = re.compile(rf"pairs with ({ITEM}(?:(?:, and|,| and) {ITEM})*)")
ACQUIRES = {"acquire", "acq_rel", "seq_cst", "consume"}
RELEASES = {"release", "acq_rel", "seq_cst"}


def partners(op: Operation) -> set[str]:
    """The labels that the comment of an operation says it pairs with."""
    named = [item for found in PARTNERS.findall(op.note) for item in re.findall(ITEM, found)]
    return {op.label if item == "itself" else item[1:-1] for item in named}


def reasons_missing(op: Operation) -> Iterator[str]:
    note = op.note.lower()
    if op.what.startswith("compare_exchange"):
        failure = op.orders[1]
        if failure == "relaxed" and not re.search(r"failure relaxed(?::|,| \()", note):
            yield "no reason for the relaxed order on failure: `Failure relaxed: ...`"
        if failure != "relaxed" and f"failure {failure}" not in note:
            yield f"the comment does not say `Failure {failure}`"
        note = re.sub(r"failure \w+", "", note)
    if op.orders[0] == "relaxed" and not re.search(r"relaxed(?::|,| \()", note):
        yield "no reason for the relaxed order: `Relaxed: ...`"


def label_wrong(op: Operation, labelled: dict[str, Operation]) -> Iterator[str]:
    if all(order == "relaxed" for order in op.orders):
        return
    if not op.label:
        yield f"no label for {' and '.join(op.orders)}"
        return
    if labelled[op.label] is not op:
        yield f"[{op.label}] is the label of {labelled[op.label].where}, too"
        return
    for word, orders in (("acquire", ACQUIRES), ("release", RELEASES)):
        if orders & set(op.orders) and word not in op.note.lower():
            yield f"the comment does not say why {word}"
    if not partners(op):
        yield "the comment names no partner: `pairs with [...]`"
    for name in sorted(partners(op) & labelled.keys()):
        other = labelled[name]
        if op.label not in partners(other):
            yield f"pairs with [{name}], which does not name [{op.label}]"
        elif not any(RELEASES & set(a.orders) and ACQUIRES & set(b.orders)
                     for a, b in ((op, other), (other, op))):
            yield f"pairs with [{name}], but neither acquires what the other releases"


def complaints(top: Path) -> Iterator[str]:
    include = top / "include/tryst"
    sources = [*core_headers(include), *adapter_sources(top)]
    found = [op for source in sources for op in operations(source, include)]
    labelled: dict[str, Operation] = {}
    for op in found:
        if op.label:
            labelled.setdefault(op.label, op)
    for op in found:
        if len(op.orders) != (2 if op.what.startswith("compare_exchange") else 1):
            yield f"{op.where}: {op.what}: not every memory order is given"
            continue
        for wrong in (*label_wrong(op, labelled), *reasons_missing(op)):
            yield f"{op.where}: {op.what}: {wrong}"
    citing = [*sources, *(top / "tests/spin").iterdir(), *(top / "docs").glob("*.md"), *(top / "tests").glob("*.md")]
    for path in citing:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r"\[([A-Z]\d+)\](?!\()", re.sub(r"//.*\[\[.*", "", line)):
                if name not in labelled:
                    yield f"{path.relative_to(top)}:{number}: no operation has the label [{name}]"
    if not found:
        yield f"{include}: no atomic operation found"


if __name__ == "__main__":
    run(complaints)
