./dev example copy_a_file README.md copied.md
