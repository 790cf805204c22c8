#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the documentation site in build/docs/html: the pages, the examples, the API reference. `./dev docs` runs it.

    site.py            build the site
    site.py page FILE  print a page as doxygen needs it (doxygen's input filter)

The pages are written for readers of the repository. On the site, each heading keeps the anchor that it has there. A
link to a file of the repository leads to a page, an example, or a copy of the file. Below a C++ block is a link to the
file that shows the block to a compiler. The side bar is made of docs/guide.md.
"""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests/pages"))
import blocks  # noqa: E402

OUT = TOP / "build/docs"
MAIN = TOP / "README.md"  # the site opens with it
GUIDE = TOP / "docs/guide.md"
THEME = Path("/usr/share/doxygen-awesome-css")  # Debian packages doxygen and a theme that fits it
SCRIPTS = [THEME / "doxygen-awesome-darkmode-toggle.js", THEME / "doxygen-awesome-fragment-copy-button.js", TOP / "docs/site.js"]
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"!\[([^]]*)\]\((?:[^()\s]*/)?([^()\s/]+)\)")
BLOCK = re.compile(r"(?<=^```cpp\n).*?(?=\n```$)", re.MULTILINE | re.DOTALL)
MARK = re.compile(r" *//@@([^@\n]+)@@")  # ends a C++ block between `page` and `finish_pages`: the compiled file
BOLD = re.compile(r"\*\*(\S(?:[^*]|\*(?!\*))*)\*\*")
POINTEE = re.compile(r"`\*(std::[^`\n]+)`")
LINK = re.compile(r"(?<!!)\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]+)\)")


def label_of(page: Path) -> str:
    """The name of a page: concepts, adr-0001-..., tests-model."""
    parts = page.relative_to(TOP).with_suffix("").parts
    if parts[0] == "docs":
        parts = parts[1:]
    if parts[-1] == "README" and len(parts) > 1:
        parts = parts[:-1]
    return "-".join(parts).lower()


def target_of(page: Path, link: str) -> str | None:
    """Returns the address on the site that a link of a page leads to; None for a folder."""
    if re.match(r"[a-z]+:", link):
        return link
    name, _, anchor = link.partition("#")
    target = Path(os.path.normpath(page.parent / name)) if name else page
    if (target / "README.md").exists():
        target /= "README.md"
    if not target.exists():
        sys.exit(f"site.py: {page.relative_to(TOP)} links to {link}, which does not exist")
    if target.suffix == ".md":
        name = "index" if target == MAIN else label_of(target)
        return f"{name}.html#{label_of(target)}--{anchor}" if anchor else f"{name}.html"
    return address_of(target) if target.is_file() else None


def address_of(file: Path) -> str:
    """Where the site shows a file of the repository."""
    if (TOP / "examples") in file.parents and file.suffix == ".cpp":  # doxygen names its page
        return f"{str(file.relative_to(TOP / 'examples')).replace('/', '_2').replace('.', '_8')}-example.html"
    return f"source/{file.relative_to(TOP)}.txt"


def marked(path: Path) -> str:
    """The text of a page, with a mark at the end of each C++ block."""
    included = {name: program for program in blocks.PROGRAMS for name in blocks.included(program)}
    texts = blocks.compiled()
    number = 0

    def mark(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        file = included.get(f"{path.relative_to(TOP)}/{number}")
        file = file or next((file for text, file in texts if blocks.unindented(found[0] + "\n") in text), None)
        return f"{found[0]} //@@{file.relative_to(TOP)}@@" if file else found[0]

    return BLOCK.sub(mark, path.read_text())


def page(path: Path) -> str:
    """The text of a page, with labels for its headings and other links, in the same lines."""
    label = label_of(path)
    used: dict[str, int] = {}

    def labelled(found: re.Match[str]) -> str:
        slug = re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", found[2]).lower()).replace(" ", "-")
        count = used[slug] = used.get(slug, -1) + 1
        if found[1] == "#":
            return f"{found[0]} {{#{'mainpage' if path == MAIN else label}}}"
        anchor = f"{label}--{slug}{f'-{count}' if count else ''}"
        if path == MAIN:  # a section of doxygen would be an entry of the side bar
            return f'<h{len(found[1]) - 1} id="{anchor}">{found[2]}</h{len(found[1]) - 1}>'
        return f"{found[0]} {{#{anchor}}}"

    def linked(found: re.Match[str]) -> str:
        target = target_of(path, found[2])
        return f"[{found[1]}]({target})" if target else found[1]

    def image(found: re.Match[str]) -> str:
        """Doxygen finds an image by its name, and needs its caption in one line."""
        return f"![{' '.join(found[1].split())}]({found[2]})" + found[1].count("\n") * "\n"

    parts = FENCED.split(marked(path))
    for i in range(0, len(parts), 2):  # every other part is code
        text = re.sub(r"^(#+) (.*)$", labelled, parts[i], flags=re.MULTILINE)
        text = IMAGE.sub(image, LINK.sub(linked, text))
        text = POINTEE.sub(lambda found: f"<code>*%{html.escape(found[1])}</code>", text)  # doxygen looks for what follows a star
        parts[i] = BOLD.sub(r"<b>\1</b>", text)  # doxygen does not see stars beside code
    return "".join(parts)


def navigation(doxygen: tuple[int, ...]) -> str:
    """The sections of docs/guide.md, in its order. Those of the API are in the section Reference."""
    def tab(kind: str, **attributes: str) -> str:
        return f'<tab type="{kind}" visible="yes" {" ".join(f"{k}={quoteattr(v)}" for k, v in attributes.items())}'

    def group(title: str, tabs: list[str]) -> list[str]:
        return [tab("usergroup", url="[none]", title=title) + ">", *tabs, "</tab>"]

    api = group("API", [tab("topics" if doxygen >= (1, 9, 8) else "modules", title="Topics") + "/>",
                        tab("namespacelist", title="Namespaces") + "/>",
                        tab("classlist", title="Classes") + "/>",
                        tab("filelist", title="Headers") + "/>"])
    lines = ['<tab type="mainpage" visible="no"/>']  # which the guide lists
    for section in GUIDE.read_text().split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        tabs = []
        for entry in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
            for name, link in LINK.findall(entry.split("):")[0] + ")"):
                target = target_of(GUIDE, link)
                tabs.append(tab("user", url=target or "", title=name) + "/>")
        lines += group(title, [*tabs, *(api if title == "Reference" else [])])
    return '<doxygenlayout version="1.0"><navindex>\n' + "\n".join(lines) + "\n</navindex></doxygenlayout>\n"


def check_guide() -> None:
    """The guide is the side bar, so it has each page."""
    listed = {os.path.normpath(GUIDE.parent / link.partition("#")[0]) for _, link in LINK.findall(GUIDE.read_text())}
    missing = [path.name for path in sorted((TOP / "docs").glob("*.md")) if path != GUIDE and str(path) not in listed]
    if missing:
        sys.exit(f"site.py: docs/guide.md does not list {', '.join(missing)}")


def run_doxygen() -> None:
    check_guide()
    doxygen = tuple(int(part) for part in re.findall(r"\d+", subprocess.check_output(["doxygen", "--version"], text=True))[:3])
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    (OUT / "layout.xml").write_text(navigation(doxygen))
    examples = [path.relative_to(TOP / "examples") for path in sorted((TOP / "examples").rglob("*.cpp"))]
    (OUT / "examples.dox").write_text("".join(f"/// @example {path}\n\n" for path in examples))
    others = [path for folder in ("bench", "examples", "packaging", "tests") for path in sorted((TOP / folder).rglob("README.md"))]
    settings = [(TOP / "docs/Doxyfile").read_text(), f"LAYOUT_FILE = {OUT}/layout.xml",
                f"INPUT += {' '.join(map(str, others))} {OUT}/examples.dox"]
    if THEME.exists():
        header = OUT / "header.html"
        subprocess.run(["doxygen", "-w", "html", header, OUT / "footer.html", OUT / "style.css"], check=True)
        header.write_text(header.read_text().replace("</head>", "".join(
            f'<script type="text/javascript" src="$relpath^{script.name}"></script>\n' for script in SCRIPTS) + "</head>"))
        styles = [f"{THEME}/doxygen-awesome{part}.css" for part in
                  ("", "-sidebar-only", "-sidebar-only-darkmode-toggle")]
        settings += [f"HTML_HEADER = {header}", f"HTML_EXTRA_STYLESHEET = {' '.join(styles)} {TOP}/docs/site.css",
                     f"HTML_EXTRA_FILES = {' '.join(map(str, SCRIPTS))}"]
        if doxygen >= (1, 9, 5):
            settings.append("HTML_COLORSTYLE = LIGHT")  # the theme has its own dark mode
    else:
        print("site.py: doxygen-awesome-css is not installed; the site gets doxygen's plain theme", file=sys.stderr)
    if subprocess.run(["doxygen", "-"], input="\n".join(settings), text=True, cwd=TOP).returncode != 0:
        sys.exit("site.py: doxygen has warnings")


def linked_fragment(found: re.Match[str]) -> str:
    """A block of code. Its mark becomes a link below it."""
    marks = MARK.findall(found[0])
    if not marks:
        return found[0]
    link = f'<p class="compiled"><a href="{address_of(TOP / marks[-1])}">{html.escape(marks[-1])}</a></p>'
    return MARK.sub("", found[0]) + link


def finish_pages() -> None:
    menu = OUT / "html/menudata.js"
    menu.write_text(menu.read_text().replace('url:""', 'url:"javascript:void(0)"'))  # of a section
    for path in (OUT / "html").glob("*.html"):
        text = before = path.read_text()
        if 'name="nested-classes"' not in text:  # doxygen links to this table even if all nested classes are hidden
            text = re.sub(r'<a href="#nested-classes">.*?</a>( &#124;\n)?', "", text)
        # A picture in an <object> follows the system's choice of light or dark, not that of the page.
        text = re.sub(r'<object type="image/svg\+xml" data="([^"]+)".*?</object>', r'<img src="\1" alt=""/>', text)
        text = re.sub("&lt;/?tt&gt;", "", text)  # doxygen leaves these of code in a heading
        text = re.sub(r'<div class="fragment">.*?</div><!-- fragment -->', linked_fragment, text, flags=re.DOTALL)
        if text != before:
            path.write_text(text)
        for found in re.findall(r'href="source/([^"#]+)\.txt"', text):  # files of the repository
            copy = OUT / f"html/source/{found}.txt"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TOP / found, copy)


if __name__ == "__main__":
    if sys.argv[1:2] == ["page"]:
        sys.stdout.write(page((TOP / sys.argv[2]).resolve()))
    else:
        run_doxygen()
        finish_pages()
