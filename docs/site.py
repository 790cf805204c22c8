#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the documentation site in build/docs/html: the pages, the examples, the API reference. `./dev docs` runs it.

    site.py            build the site
    site.py page FILE  print a page as doxygen needs it (doxygen's input filter)

The pages are written for readers of the repository. On the site, each heading keeps the anchor that it has there. A
link to a file of the repository leads to a page, an example, or a copy of the file.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

TOP = Path(__file__).resolve().parent.parent
OUT = TOP / "build/docs"
MAIN = TOP / "docs/tutorial.md"  # the site opens with it
THEME = Path("/usr/share/doxygen-awesome-css")  # Debian packages doxygen and a theme that fits it
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"(!\[[^]]*\]\()[^()\s]*/([^()\s/]+)\)")
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
        if anchor:
            return f"@ref {label_of(target)}-{anchor}"
        return "index.html" if target == MAIN else f"@ref {label_of(target)}"
    if target.parent == TOP / "examples" and target.suffix == ".cpp":
        return f"{target.stem}_8cpp-example.html"
    return f"source/{target.relative_to(TOP)}.txt" if target.is_file() else None


def page(path: Path) -> str:
    """The text of a page, with labels for its headings and other links, in the same lines."""
    label = label_of(path)
    used: dict[str, int] = {}

    def labelled(found: re.Match[str]) -> str:
        slug = re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", found[2]).lower()).replace(" ", "-")
        count = used[slug] = used.get(slug, -1) + 1
        if found[1] == "#":
            return f"{found[0]} {{#{'mainpage' if path == MAIN else label}}}"
        return f"{found[0]} {{#{label}-{slug}{f'-{count}' if count else ''}}}"

    def linked(found: re.Match[str]) -> str:
        target = target_of(path, found[2])
        return f"[{found[1]}]({target})" if target else found[1]

    parts = FENCED.split(path.read_text())
    for i in range(0, len(parts), 2):  # every other part is code
        parts[i] = IMAGE.sub(r"\1\2)", LINK.sub(linked, parts[i]))  # doxygen finds images by their name
        parts[i] = re.sub(r"^(#+) (.*)$", labelled, parts[i], flags=re.MULTILINE)
    return "".join(parts)


def navigation(doxygen: tuple[int, ...]) -> str:
    """The sections of docs/guide.md, in its order, then the reference."""
    def tab(kind: str, **attributes: str) -> str:
        return f'<tab type="{kind}" visible="yes" {" ".join(f"{k}={quoteattr(v)}" for k, v in attributes.items())}'

    guide = TOP / "docs/guide.md"
    sections: list[tuple[str, list[str]]] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", guide.read_text()):
        if not paragraph.startswith("- "):
            sections.append((paragraph.strip("# \n").rstrip(":"), []))
        elif sections:
            names = paragraph[2:].split(":")[0] if paragraph.startswith("- [") else ""
            for text, link in LINK.findall(names):
                target = target_of(guide, link)
                if target and target != "index.html" and not target.startswith("source/"):
                    sections[-1][1].append(tab("user", url=target, title=text) + "/>")
    sections.append(("Project", [tab("user", url=f"@ref {name.lower()}", title=name.capitalize()) + "/>"
                                 for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY") if (TOP / f"{name}.md").exists()]))
    lines = [tab("mainpage", title="Tutorial") + "/>"]
    for title, tabs in sections:
        if tabs:
            lines += [tab("usergroup", title=title) + ">", *tabs, "</tab>"]
    lines += [tab("usergroup", title="API reference") + ">",
              tab("topics" if doxygen >= (1, 9, 8) else "modules", title="Topics") + "/>",
              tab("namespacelist", title="Namespaces") + "/>",
              tab("classlist", title="Classes") + "/>",
              tab("filelist", title="Headers") + "/>", "</tab>"]
    return '<doxygenlayout version="1.0"><navindex>\n' + "\n".join(lines) + "\n</navindex></doxygenlayout>\n"


def run_doxygen() -> None:
    doxygen = tuple(int(part) for part in re.findall(r"\d+", subprocess.check_output(["doxygen", "--version"], text=True))[:3])
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    (OUT / "layout.xml").write_text(navigation(doxygen))
    examples = sorted((TOP / "examples").glob("*.cpp"))
    (OUT / "examples.dox").write_text("".join(f"/// @example {path.name}\n\n" for path in examples))
    settings = [(TOP / "docs/Doxyfile").read_text(), f"LAYOUT_FILE = {OUT}/layout.xml", f"INPUT += {OUT}/examples.dox"]
    if THEME.exists():
        header, script = OUT / "header.html", "doxygen-awesome-darkmode-toggle.js"
        subprocess.run(["doxygen", "-w", "html", header, OUT / "footer.html", OUT / "style.css"], check=True)
        header.write_text(header.read_text().replace("</head>", f"""\
<script type="text/javascript" src="$relpath^{script}"></script>
<script type="text/javascript">DoxygenAwesomeDarkModeToggle.init()</script>
</head>"""))
        styles = [f"{THEME}/doxygen-awesome{part}.css" for part in
                  ("", "-sidebar-only", "-sidebar-only-darkmode-toggle")]
        settings += [f"HTML_HEADER = {header}", f"HTML_EXTRA_STYLESHEET = {' '.join(styles)}",
                     f"HTML_EXTRA_FILES = {THEME}/{script}"]
        if doxygen >= (1, 9, 5):
            settings.append("HTML_COLORSTYLE = LIGHT")  # the theme has its own dark mode
    else:
        print("site.py: doxygen-awesome-css is not installed; the site gets doxygen's plain theme", file=sys.stderr)
    if subprocess.run(["doxygen", "-"], input="\n".join(settings), text=True, cwd=TOP).returncode != 0:
        sys.exit("site.py: doxygen has warnings")


def finish_pages() -> None:
    for path in (OUT / "html").glob("*.html"):
        text = path.read_text()
        if 'name="nested-classes"' not in text:  # doxygen links to this table even if all nested classes are hidden
            fixed = re.sub(r'<a href="#nested-classes">.*?</a>( &#124;\n)?', "", text)
            if fixed != text:
                path.write_text(fixed)
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
