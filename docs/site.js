// SPDX-License-Identifier: MIT
// What the site adds to doxygen's scripts and theme.
DoxygenAwesomeDarkModeToggle.init();
DoxygenAwesomeFragmentCopyButton.init();

// Opens the sections of the side bar, but not their sections.
$(window).on("load", function open() {
    const sections = $("#nav-tree-contents .nolink");
    if (sections.length === 0) {
        setTimeout(open, 50); // doxygen loads parts of the tree
    }
    sections.filter((_, each) => each.textContent !== "API" && !$(each).closest("li").children("ul").is(":visible"))
        .each((_, each) => each.onclick());
});
