#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of the pages, docs/pictures/NAME.svg.

pictures.py          writes all of them
pictures.py --check  fails if a file differs from its picture, or has none

To change a picture, edit its function below. A picture is not written if a text in it overlaps another text or a line,
or leaves its box. Colours come from variables, with other values for a dark page; each meaning also has a shape, a
dash or a word. A word in `backquotes` is code.
"""

import re
import sys
import textwrap
from pathlib import Path
from typing import Callable, Iterable
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent / "pictures"
SIZE, LEADING, PAD = 14, 18, 7  # of text, of its lines, and inside a box
LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#59636e", "plain": "#f3f5f7",
         "a": "#0969da", "a-fill": "#ddf1ff", "b": "#b04a00", "b-fill": "#fff0e0", "good": "#1a7f37", "good-fill": "#dcfbe4",
         "bad": "#c2255c", "bad-fill": "#fff0f4"}
DARK = {"paper": "#0d1117", "ink": "#e6edf3", "soft": "#9aa4af", "line": "#9aa4af", "plain": "#1c2229",
        "a": "#58a6ff", "a-fill": "#10243e", "b": "#f0883e", "b-fill": "#33200f", "good": "#3fb950", "good-fill": "#10291a",
        "bad": "#ff7b9c", "bad-fill": "#3a1622"}


def style() -> str:
    """The style of a picture. The rule for dark pages has a line of its own, which a page that is always light can drop.

    If its `color-scheme` is not that of the page, a browser does not let an <object> be transparent."""
    light, dark = ("svg{color-scheme:" + scheme + "".join(f";--{name}:{colour}" for name, colour in of.items()) + "}"
                   for scheme, of in (("light", LIGHT), ("dark", DARK)))
    return f"""<style>
{light}
@media (prefers-color-scheme:dark){{{dark}}}
text{{font:{SIZE}px sans-serif;fill:var(--ink);stroke:var(--paper);stroke-width:3px;stroke-linejoin:round;paint-order:stroke}}
text.in{{stroke:none}} .strong{{font-weight:bold}} .soft{{fill:var(--soft)}} .code{{font-family:monospace;font-size:13px}}
path,rect{{fill:none;stroke:var(--line);stroke-width:1.5px}} #head path{{fill:var(--line);stroke:none}}
path.run{{stroke-width:4px}} path.wait{{stroke-width:3px;stroke-dasharray:2 6}} path.off{{stroke-width:1px;stroke-dasharray:2 4}}
path.dashed{{stroke-dasharray:6 4}} path.a{{stroke:var(--a)}} path.b{{stroke:var(--b)}}
rect.plain{{fill:var(--plain)}} rect.a{{fill:var(--a-fill);stroke:var(--a)}} rect.b{{fill:var(--b-fill);stroke:var(--b)}}
rect.good{{fill:var(--good-fill);stroke:var(--good);stroke-width:2.5px}} rect.bad{{fill:var(--bad-fill);stroke:var(--bad);stroke-dasharray:6 4}}
rect.absent{{stroke-dasharray:3 4}}
</style>"""


Point = tuple[float, float]
Area = tuple[float, float, float, float]  # left, top, right, bottom


def width_of(line: str) -> float:
    """At least the width of a line, in any usual font."""
    return sum(len(part) * (0.6 * (13 if i % 2 else SIZE)) for i, part in enumerate(line.split("`")))


def overlap(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


class Picture:
    """Shapes, and what must not overlap. `top` arguments and results are y, downwards."""

    def __init__(self, draw: Callable[["Picture"], None], width: int = 440) -> None:
        self.title, _, desc = (draw.__doc__ or "").partition(": ")
        self.desc, self.width, self.height = desc[:1].upper() + " ".join(desc[1:].split()), width, 0.0
        self.shapes: list[str] = []
        self.words: list[str] = []  # above all shapes
        self.texts: list[tuple[Area, str, bool]] = []  # and whether it is in a box
        self.boxes: list[Area] = []
        self.lines: list[Area] = []
        self.end: Callable[[], None] = lambda: None
        draw(self)
        self.end()

    def text(self, x: float, top: float, words: str, kind: str = "", anchor: str = "middle", within: bool = False) -> float:
        """Writes lines of text and returns their bottom."""
        for line in words.split("\n") if words else ():
            wide = width_of(line)
            left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[anchor]
            self.texts.append(((left, top + 2, left + wide, top + LEADING - 1), line, within))
            parts = escape(line).split("`")
            inner = "".join(f'<tspan class="code">{part}</tspan>' if i % 2 else part for i, part in enumerate(parts))
            self.words.append(f'<text x="{x:g}" y="{top + 14:g}" text-anchor="{anchor}" class="{kind}{" in" * within}" '
                              f'xml:space="preserve">{inner}</text>')
            top += LEADING
        self.height = max(self.height, top)
        return top

    def box(self, x: float, top: float, width: float, words: str = "", kind: str = "plain", height: float = 0,
            bold: bool = False) -> float:
        """Draws a box around the middle `x`, with its words in the middle, and returns its bottom."""
        tall = LEADING * (words.count("\n") + 1)
        height = height or tall + 2 * PAD
        self.boxes.append((x - width / 2, top, x + width / 2, top + height))
        self.shapes.append(f'<rect x="{x - width / 2:g}" y="{top:g}" width="{width:g}" height="{height:g}" '
                           f'rx="{9 if kind == "good" else 3}" class="{kind}"/>')
        if words:
            self.text(x, top + (height - tall) / 2, words, "strong" if bold else "", within=True)
        self.height = max(self.height, top + height)
        return top + height

    def frame(self, left: float, top: float, right: float, bottom: float, words: str, indent: float = 8) -> None:
        """Draws a dashed frame with its name at the top."""
        self.shapes.append(f'<rect x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}" rx="8" class="absent"/>')
        self.lines += [(left, top, right, top), (left, bottom, right, bottom), (left, top, left, bottom), (right, top, right, bottom)]
        self.text(left + indent, top + 3, words, "soft", "start")
        self.height = max(self.height, bottom)

    def line(self, points: Iterable[Point], kind: str = "", head: bool = False) -> None:
        points = list(points)
        self.lines += [(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)) for (x1, y1), (x2, y2) in zip(points, points[1:])]
        path, end = "L".join(f"{x:g} {y:g}" for x, y in points), ' marker-end="url(#head)"' * head
        self.shapes.append(f'<path d="M{path}" class="{kind}"{end}/>')
        self.height = max(self.height, *(y for _, y in points))

    def arrow(self, *points: Point, kind: str = "") -> None:
        self.line(points, kind, head=True)

    def complaints(self) -> Iterable[str]:
        for i, (area, words, within) in enumerate(self.texts):
            if area[0] < 0 or area[2] > self.width:
                yield f"{words!r} leaves the picture"
            yield from (f"{words!r} overlaps {other!r}" for at, other, _ in self.texts[:i] if overlap(area, at))
            yield from (f"a line crosses {words!r}" for each in self.lines if overlap(area, each))
            yield from (f"{words!r} does not fit into its box, or overlaps one" for at in self.boxes if overlap(area, at) and not (
                within and at[0] + 2 <= area[0] and area[2] <= at[2] - 2 and at[1] <= area[1] and area[3] <= at[3]))

    def svg(self) -> str:
        found = sorted(set(self.complaints()))
        if found:
            sys.exit("\n".join(f"pictures.py: {self.title}: {each}" for each in found))
        height = self.height + 8
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:g}" width="{self.width}" height="{height:g}" role="img">',
            "<!-- SPDX-License-Identifier: MIT; made by docs/pictures.py -->",
            f"<title>{escape(self.title)}</title>", f"<desc>{escape(self.desc)}</desc>", style(),
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
            'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 10 5 0 10z"/></marker></defs>',
            *self.shapes, *self.words, "</svg>", ""])


# ---- Two kinds of pictures: what happens in which order, and questions with answers

class Sequence:
    """Lanes from left to right, and what happens in them from top to bottom.

    Each call is a step below the previous one; `at` puts steps beside each other. A lane is solid while its party runs,
    and dotted while it waits. Words stand to the right of a lane, and to the left of the last one."""

    def __init__(self, picture: Picture, *lanes: str, title: str = "", edge: float = 72) -> None:
        self.picture, self.top, self.edge = picture, 4.0, edge
        self.state: list[tuple[str, float]] = []  # of each lane, and from which y
        picture.end = self.end
        self.section(title, *lanes)

    def turn(self, lane: int, state: str, at: float) -> None:
        """Draws a lane down to `at`, and goes on in another state: run, wait, off, or end."""
        was, since = self.state[lane]
        if was != "end" and at > since:
            self.picture.line([(self.x[lane], since), (self.x[lane], at)], f"{was} {self.kinds[lane]}")
        self.state[lane] = (state, at)

    def end(self) -> None:
        for lane in range(len(self.state)):
            self.turn(lane, "end", self.top)

    def section(self, title: str, *names: str) -> None:
        """Begins lanes. A name is `kind:words`, with the kind of the lane: a, b, plain, or - for a place that never runs; `off b`
        is a lane that begins to run later."""
        self.end()
        if title:
            self.top = self.picture.text(2, self.top + 16 if self.state else 2, title, "strong", "start") + 8
        self.gap = (self.picture.width - 2 * self.edge) / max(len(names) - 1, 1)
        self.x = [self.edge + i * self.gap for i in range(len(names))]
        self.kinds = [name.split(":")[0].removeprefix("off ") for name in names]
        wide = min(2 * self.edge, self.gap if len(names) > 1 else 2 * self.edge) - 8
        bottom = max(self.picture.box(x, self.top, wide, name.split(":")[1], kind.replace("-", "plain"), bold=True)
                     for x, name, kind in zip(self.x, names, self.kinds))
        self.state = [("off" if name.startswith(("-", "off")) else "run", bottom) for name in names]
        self.top = bottom + 12

    def say(self, lane: int, words: str, state: str = "", beside: bool = False) -> None:
        """Writes beside a lane, or `beside` its box; with a `state`, the lane has it from here."""
        if state:
            self.turn(lane, state, self.top + 2)
        left = lane == len(self.x) - 1 > 0
        away = self.gap / 2 if beside else 10
        self.top = self.picture.text(self.x[lane] + (-away if left else away), self.top, words, anchor="end" if left else "start") + 10

    def box(self, lane: int, words: str, kind: str = "", wide: float = 0, last: int = -1) -> None:
        """Draws a box on a lane, or over several lanes up to `last`."""
        last = lane if last < 0 else last
        middle = (self.x[lane] + self.x[last]) / 2
        wide = wide or (self.gap - 16 if last == lane else self.x[last] - self.x[lane] + 100)
        top, self.top = self.top, self.picture.box(middle, self.top, wide, words, kind or self.kinds[lane].replace("-", "plain"))
        for each in range(lane, last + 1):
            state = self.state[each][0]
            self.turn(each, state, top)
            self.state[each] = (state, self.top)
        self.top += 12

    def go(self, start: int, end: int, words: str, kind: str = "", leaves: str = "", then: str = "") -> None:
        """Draws an arrow, with its words beside the lane at which it starts; a `lost` one ends in a cross.

        At the arrow, the lane at which it starts `leaves` into another state, and the other lane `then` is in another one."""
        way = 1 if end > start else -1
        at = self.picture.text(self.x[start] + way * self.gap / 2, self.top, words) + 5
        stop = self.x[start] + way * (self.gap - 24) if kind == "lost" else self.x[end] - way * 4
        self.picture.line([(self.x[start] + way * 4, at), (stop, at)], kind.replace("lost", "dashed"), head=kind != "lost")
        if kind == "lost":
            self.picture.line([(stop - 6, at - 6), (stop + 6, at + 6)])
            self.picture.line([(stop - 6, at + 6), (stop + 6, at - 6)])
        for lane, state in ((start, leaves), (end, then)):
            if state:
                self.turn(lane, state, at)
        self.top = at + 12

    def at(self, *steps: Callable[[], None]) -> None:
        """Does several steps at the same height."""
        top, bottom = self.top, self.top
        for step in steps:
            self.top = top
            step()
            bottom = max(bottom, self.top)
        self.top = bottom


def questions(picture: Picture, top: float, rows: list[tuple[str, str, str]], otherwise: str, kind: str = "good") -> float:
    """Draws questions from top to bottom; the answer of one stands to its right if it is yes. Returns the bottom."""
    left, right = 226, 164
    for question, answer, answer_kind in rows:
        tall = LEADING * (max(question.count("\n"), answer.count("\n")) + 1) + 2 * PAD
        bottom = picture.box(left / 2 + 2, top, left, question, "plain", tall)
        picture.box(picture.width - right / 2 - 2, top, right, answer, answer_kind, tall)
        middle = top + tall / 2
        picture.arrow((left + 2, middle), (picture.width - right - 4, middle))
        picture.text((left + picture.width - right) / 2, middle - LEADING - 3, "yes", "soft")
        picture.arrow((left / 2, bottom), (left / 2, bottom + 24))
        picture.text(left / 2 + 10, bottom + 2, "no", "soft", "start")
        top = bottom + 26
    return picture.box(left / 2 + 2, top, left, otherwise, kind)


# ---- The pictures. A docstring is the title and the description of its picture.

def exchange(picture: Picture) -> None:
    """An exchange: party A brings item a to the exchanger and waits. Party B brings item b and finds A: they swap. B goes on
    at once with a, and A goes on with b when its loop runs it again."""
    steps = Sequence(picture, "a:party A", "-:exchanger", "b:party B")
    steps.go(0, 1, "brings item a")
    steps.say(0, "waits; its loop\nruns others", "wait")
    steps.go(2, 1, "brings item b")
    steps.box(1, "A and B swap\ntheir items")
    steps.go(1, 2, "a")
    steps.say(2, "has a; goes on\nat once")
    steps.go(1, 0, "b")
    steps.say(0, "has b; goes on\nwhen its loop\nruns it", "run")


def waiter(picture: Picture) -> None:
    """The life of a waiter: an arrival that finds a partner claims it, and its own waiter is complete at once. Otherwise its
    waiter is offered. A bounded offer moves to the wait list. One atomic step decides whether the waiter is claimed, by a
    partner or a closer, or withdrawn, by its owner or a canceller. Then it is completed, and its party resumes."""
    for x, top, wide, words, kind in (
            (125, 4, 242, "looks for a partner", "plain"), (361, 4, 150, "claims it, swaps", "good"),
            (125, 66, 242, "offered\nin a slot or a wait list", "a"), (94, 176, 180, "claimed:\nbelongs to the party\nthat took it out", "a"),
            (346, 176, 180, "withdrawn:\nno party finds it\nany more", "bad"), (220, 286, 432, "completed: its result is in place", "plain"),
            (220, 344, 432, "its party resumes, and returns the result", "good")):
        picture.box(x, top, wide, words, kind)
    for path in (((246, 20), (284, 20)), ((125, 36), (125, 64)), ((246, 80), (272, 80), (272, 104), (248, 104)), ((94, 116), (94, 174)),
                 ((210, 116), (210, 124), (346, 124), (346, 174)), ((94, 244), (94, 284)), ((346, 244), (346, 284)), ((220, 318), (220, 342))):
        picture.arrow(*path)
    picture.arrow((184, 210), (254, 210), kind="dashed")
    for x, top, words, anchor in (
            (264, 0, "one", "middle"), (135, 40, "none", "start"), (280, 74, "bounded offer ends,\nmoves to wait list", "start"),
            (102, 130, "a partner\nor a close", "start"), (338, 130, "a stop or\na deadline", "end"), (219, 190, "stale", "middle"),
            (102, 253, "swap, or `closed`", "start"), (338, 253, "no swap", "end"),
            (2, 386, "Claim or withdrawal: one atomic step decides.\nStale: a claimed waiter whose selection was decided\notherwise "
             "goes back to its owner. If a coroutine is\ndestroyed, its waiter is withdrawn likewise.", "start")):
        picture.text(x, top, words, "soft", anchor)


def which_event(picture: Picture) -> None:
    """Which event wins: when a party arrives, the first condition that holds decides: a stop was requested, the exchanger is
    closed, a partner waits, the deadline has passed, the operation does not wait. Otherwise it waits, and then the first
    event decides: a partner, a stop, the deadline, or a close."""
    top = picture.text(2, 2, "A party arrives: the first yes decides", "strong", "start") + 8
    top = questions(picture, top, [("Was a stop requested?", "`cancelled`", "bad"), ("Is the exchanger closed?", "`closed`", "bad"),
                                   ("Does a partner wait?", "partner's item", "good"), ("Has the deadline passed?", "`timed_out`", "bad"),
                                   ("Is it a `try_` operation?", "`no_partner`", "bad")], "The party waits", "a")
    top = picture.text(2, top + 16, "It waits: the first event decides", "strong", "start") + 8
    for event, result, kind in (("A partner comes", "partner's item", "good"), ("A stop is requested", "`cancelled`", "bad"),
                                ("The deadline passes", "`timed_out`", "bad"), ("The exchanger is closed", "`closed`", "bad")):
        picture.box(356, top, 164, result, kind)
        picture.arrow((228, top + 16), (272, top + 16))
        top = picture.box(115, top, 226, event) + 8
    picture.text(2, top + 4, "Later events change nothing.\nA dashed result: your own item is back.", "soft", "start")


def resumes(picture: Picture) -> None:
    """Where a coroutine resumes: on one loop, A waits, B goes on at once, and A goes on later, on the same loop. On two loops,
    A continues on its own loop, which the thread of B wakes. Without an executor, A continues on the thread of B, before B."""
    steps = Sequence(picture, "plain:thread of the loop", title="1. A and B are on the same loop", edge=110)
    steps.at(lambda: steps.box(0, "A: `co_await`", "a"), lambda: steps.say(0, "A waits, and the\nloop runs others", beside=True))
    steps.at(lambda: steps.box(0, "B: `co_await`", "b"), lambda: steps.say(0, "its partner A waits:\nB goes on at once", beside=True))
    steps.box(0, "other coroutines", "absent")
    steps.at(lambda: steps.box(0, "A goes on", "a"), lambda: steps.say(0, "behind all that\nwas ready before", beside=True))
    steps.section("2. A and B are on two loops", "plain:thread of loop 1", "plain:thread of loop 2")
    steps.box(0, "A: `co_await`", "a")
    steps.at(lambda: steps.box(0, "other coroutines", "absent"), lambda: steps.box(1, "B: `co_await`", "b"))
    steps.go(1, 0, "A is ready: wakes loop 1")
    steps.at(lambda: steps.box(0, "A goes on", "a"), lambda: steps.box(1, "B goes on", "b"))
    steps.section("3. A has no executor", "plain:a thread", "plain:thread of B")
    steps.box(0, "A: `co_await`", "a")
    steps.at(lambda: steps.say(0, "other work"), lambda: steps.box(1, "B: `co_await`", "b"))
    steps.box(1, "A goes on\nuntil it waits or ends", "a")
    steps.box(1, "B goes on", "b")


def which_type(picture: Picture) -> None:
    """Which type: an exchanger if any two parties may swap; a red_blue_exchanger for two roles that both bring an item; a future
    for one item, once; a synchronous channel if the sender must know that its item was received, or no thread may delay
    another; otherwise a channel: unlimited, weighted, or with a limit."""
    questions(picture, 2, [
        ("Do both bring an item,\nand may any two pair?", "`exchanger`", "good"),
        ("Do both bring an item,\nin two roles?", "`red_blue_exchanger`", "good"),
        ("Is there one item, once,\nsuch as a reply?", "`future`", "good"),
        ("Must the sender know that\nits item was received?", "`synchronous_channel`", "good"),
        ("Must no thread ever\ndelay another?", "`synchronous_channel`", "good"),
        ("Is there a sender\nthat cannot wait?", "`channel`, unlimited,\nor `try_send`", "good"),
        ("Do the items differ\nmuch in size?", "`channel`, weighted", "good")], "`channel` with a limit")


def arena(picture: Picture) -> None:
    """The arena of an exchanger: slot 0 is the wait list, in which a party may stay. The other slots are the arena. An arrival
    looks at the wait list first, then at the slot of its thread. An offer there is bounded, and then moves to the wait list."""
    picture.frame(208, 4, 436, 270, "exchanger")
    picture.frame(222, 78, 424, 258, "arena")
    for x, top, wide, words, kind in ((318, 30, 164, "slot 0: wait list", "good"), (318, 104, 164, "slot 1", "a"), (318, 164, 164, "slot 2", "b"),
                                      (318, 212, 164, "slot 3: not in use", "absent"), (84, 95, 110, "coroutines\nof loop 1", "a"),
                                      (84, 155, 110, "coroutines\nof loop 2", "b")):
        picture.box(x, top, wide, words, kind)
    for path in (((139, 120), (234, 120)), ((139, 180), (234, 180)), ((29, 120), (14, 120), (14, 46), (234, 46)),
                 ((400, 120), (412, 120), (412, 46), (402, 46))):
        picture.arrow(*path)
    picture.line([(29, 180), (14, 180), (14, 120)])
    picture.line([(400, 180), (412, 180), (412, 120)])
    for x, top, words in ((110, 26, "1"), (178, 100, "2"), (178, 160, "2"), (400, 60, "3")):
        picture.text(x, top, words, "strong")
    top = picture.text(2, 284, "1  An arrival looks at the wait list first.\n2  If nobody waits there and the arena is in use, it\n"
                       "    looks for a partner in its thread's slot, or\n    makes an offer there for a bounded time.\n"
                       "3  If no partner comes, it moves to the wait list,\n    the only place where a party waits for long.", "", "start")
    picture.text(2, top + 6, "When a claim fails, one more slot comes into use.\nWhen an offer in the arena expires, one fewer.", "soft", "start")


def select(picture: Picture) -> None:
    """Two cases, one takes place: a reader selects from two cases, to receive a letter, and to swap its book. A letter comes
    first: case 0 takes place, and the reader has its book back. A party that comes to swap books afterwards has to wait."""
    steps = Sequence(picture, "-:channel", "a:reader", "-:exchanger")
    steps.at(lambda: steps.go(1, 0, "case 0:\nreceive a letter"), lambda: steps.go(1, 2, "case 1:\nswap my book"))
    steps.say(1, "waits for both", "wait")
    steps.box(0, "another party\nsends a letter", "b")
    steps.box(0, "case 0 is first: it takes place, case 1 does not", "plain", last=2, wide=416)
    steps.at(lambda: steps.go(0, 1, "the letter"), lambda: steps.go(2, 1, "my book is back:\n`not_selected`", "dashed"))
    steps.say(1, "goes on", "run")
    steps.box(2, "a later party\nhas to wait", "absent")


def full_for_empty(picture: Picture) -> None:
    """Full for empty: two stages on two loops have two buffers, X and Y. One reads into X while the other writes Y. Then they
    swap the full buffer for the empty one, and go on. A buffer of size 0 marks the end."""
    steps = Sequence(picture, "a:fill, loop 1", "b:drain, loop 2", edge=90)
    steps.at(lambda: steps.box(0, "reads into X", wide=150), lambda: steps.say(1, "has Y, empty:\nwaits", "wait"))
    for gives, gets, left, right in (("X, full", "Y, empty", "reads into Y", "writes X"), ("Y, full", "X, empty", "end of the file", "writes Y"),
                                     ("X, size 0: the end", "Y, empty", "ends", "ends")):
        steps.go(0, 1, gives)
        steps.go(1, 0, gets, leaves="run")
        steps.at(*(lambda lane=lane, words=words: steps.box(lane, words, "absent" if words == "ends" else "", 150)  # type: ignore[misc]
                   for lane, words in enumerate((left, right))))
    steps.state = [("end", steps.top)] * 2


def scope(picture: Picture) -> None:
    """A scope and its work: a task makes a scope, spawns two pieces of work in it, takes the result of one, requests the stop
    of the other, and joins: it waits until no work is left. No work outlives the scope."""
    steps = Sequence(picture, "a:the task", "off b:work 1", "off b:work 2")
    top, steps.top = steps.top, steps.top + 30
    steps.go(0, 1, "`spawn`", then="run")
    steps.go(0, 2, "`spawn_future`", then="run")
    steps.say(0, "`co_await`\nits result", "wait")
    steps.go(2, 0, "result, end", leaves="end", then="run")
    steps.go(0, 1, "`request_stop`", "dashed")
    steps.say(0, "`co_await`\n`scope.join()`", "wait")
    steps.go(1, 0, "end", leaves="end", then="run")
    steps.say(0, "no work is left")
    picture.frame(4, top, 436, steps.top, "`task_scope`", 78)
    steps.top += 10
    steps.say(0, "goes on")


def redis(picture: Picture) -> None:
    """Exchanges between processes: in a match, Redis has the offer of A, and B offers; Redis matches them in one step, and each
    gets the other's item. After a deadline, A withdraws, and Redis confirms that nobody has the item. In doubt, A is cut off
    after its offer, and B is matched with it and has its item. If A stays cut off for a lease, A ends in doubt."""
    lanes = ("a:A, process 1", "-:Redis", "b:B, process 2")
    steps = Sequence(picture, *lanes, title="1. A match")
    steps.go(0, 1, "offers a")
    steps.say(0, "waits", "wait")
    steps.go(2, 1, "offers b")
    steps.box(1, "matches both,\nor neither")
    steps.at(lambda: steps.go(1, 2, "a"), lambda: steps.go(1, 0, "b"))
    steps.at(lambda: steps.say(0, "success: has b", "run"), lambda: steps.say(2, "success: has a"))
    steps.section("2. The deadline of A passes", *lanes[:2])
    steps.go(0, 1, "offers a")
    steps.say(0, "waits", "wait")
    steps.go(0, 1, "withdraws")
    steps.go(1, 0, "withdrawn")
    steps.say(0, "`timed_out`: nobody has a,\nand nobody will get it", "run")
    steps.section("3. Doubt: A is cut off", *lanes)
    steps.go(0, 1, "offers a")
    steps.say(0, "waits", "wait")
    steps.go(2, 1, "offers b")
    steps.box(1, "matches both,\nor neither")
    steps.at(lambda: steps.go(1, 2, "a"), lambda: steps.go(1, 0, "b is lost", "lost"))
    steps.say(2, "success: has a")
    steps.say(0, "cut off for a\nlease: `in_doubt`,\nB may have a", "run")


def stacks(picture: Picture) -> None:
    """Two stacks that show a deadlock: the output of tryst stacks, from docs/hangs.md. Each stack waits in an exchanger in which
    the function serve of the other stack would answer. So the two wait for each other."""
    page = (FOLDER.parent / "hangs.md").read_text(encoding="utf-8")
    found = re.search(r"^\(gdb\) tryst stacks\n(run_loop.*\n(?:  .*\n)+)(run_loop.*\n(?:  .*\n)+)", page, re.MULTILINE)
    if not found:
        sys.exit("pictures.py: docs/hangs.md shows no `tryst stacks` of two loops")
    top, rows = picture.text(2, 2, "`(gdb) tryst stacks`", "", "start") + 6, []
    for stack, below in zip(found.groups(), ("Each waits in the exchanger in which the\nother would answer: a deadlock.", "")):
        lines = [part for line in stack.splitlines() for part in textwrap.wrap(line, 46, subsequent_indent=" " * 6, break_on_hyphens=False)]
        rows += [top + PAD + LEADING * (next(i for i, line in enumerate(lines) if word in line) + 0.5) for word in (" exchanger ", "#1")]
        picture.text(10, top + PAD, "\n".join(f"`{line}`" for line in lines), "", "start", within=True)
        top = picture.text(10, picture.box(190, top, 376, "", "plain", LEADING * len(lines) + 2 * PAD) + 8, below, "strong", "start") + 10
    picture.arrow((378, rows[0]), (428, rows[0]), (428, rows[3]), (380, rows[3]))
    picture.arrow((378, rows[2]), (402, rows[2]), (402, rows[1]), (380, rows[1]))
    picture.text(2, top - 8, "`run_loop`  the loop that owns the tasks below\n`#0`  where the task waits: line and exchanger\n"
                 "`#1`  the function that awaits it\n`#2`  the line that spawned the task", "", "start")


def paths(picture: Picture) -> None:
    """Two paths of an exchange: A, whose wait has a limit, waits in slot 0 and B matches it. On one loop, in A's first turn, B
    completes A in place, and A's check finds the result. On two loops, after A's first turn, A has parked, so B posts A to its
    loop."""
    steps = Sequence(picture, "a:A, has a limit", "-:slot 0", "b:B", title="One loop, A in its first turn")
    steps.go(0, 1, "1 arrive: offer", leaves="wait")
    steps.box(1, "waiter of A", "a")
    steps.go(2, 1, "2 claim: CAS")
    steps.box(1, "empty")
    steps.go(2, 0, "3 swap,\ncomplete in place")
    steps.at(lambda: steps.say(0, "4 A's check\nruns: resume", "run"), lambda: steps.say(2, "B goes on\nat once"))
    steps.section("Two loops, A after its first turn", "a:A, loop 1", "-:slot 0", "b:B, loop 2")
    steps.go(0, 1, "1 arrive: offer", leaves="wait")
    steps.box(1, "waiter of A", "a")
    steps.say(0, "2 turn is over:\nlimits in force,\nthen park", "run")
    steps.turn(0, "wait", steps.top)
    steps.go(2, 1, "3 claim: CAS")
    steps.box(1, "empty")
    steps.go(2, 0, "4 swap,\ncomplete, post")
    steps.at(lambda: steps.say(0, "5 loop 1 wakes,\nA resumes", "run"), lambda: steps.say(2, "B goes on\nat once"))


PICTURES = (exchange, waiter, which_event, resumes, which_type, arena, select, full_for_empty, scope, redis, stacks, paths)


def main() -> None:
    made = {FOLDER / f"{draw.__name__}.svg": Picture(draw).svg() for draw in PICTURES}
    old = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*")}
    if sys.argv[1:] == ["--check"]:
        wrong = [f"{path.name} differs from its picture, or has none: run docs/pictures.py" for path in sorted({*made, *old})
                 if made.get(path) != old.get(path)]
        sys.exit("\n".join(f"pictures.py: {each}" for each in wrong) or None)
    FOLDER.mkdir(exist_ok=True)
    for path in old:
        path.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
