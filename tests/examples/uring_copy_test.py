#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that uring_copy copies files, and that it loses none if something fails.

usage: uring_copy_test.py BINARY

If io_uring is missing or forbidden, the exit status is 77 (skipped), or 1 (failed) if the
environment contains TRYST_NO_SKIP.
"""

import os
import stat
import subprocess
import sys
import tempfile
import unittest

TIMEOUT = 60
SKIPPED = 77


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False, env=dict(os.environ, LC_ALL="C"), **options)


class UringCopy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="uring_copy.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.umask(0o022)

    def file(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def content(self, name):
        with open(self.path(name), encoding="ascii") as file:
            return file.read()

    def mode(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)

    def copy(self, *arguments):
        done = run(*arguments, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def refuses(self, *arguments, says):
        """The program fails with one line that contains `says`, and all files are unchanged."""
        before = self.all_files()
        done = run(*arguments, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual(self.all_files(), before)

    def all_files(self):
        return {name: self.content(name) if os.path.isfile(self.path(name)) else None
                for name in os.listdir(self.folder)}

    def test_copies_to_a_new_file_with_the_mode_of_the_source(self):
        for mode in (0o755, 0o444, 0o600):
            self.file(f"source{mode}", "word" * 200_000, mode)
            self.copy(f"source{mode}", f"copied{mode}")
            self.assertEqual(self.content(f"copied{mode}"), "word" * 200_000)
            self.assertEqual(self.mode(f"copied{mode}"), mode)
        self.assertEqual(len(self.all_files()), 6)

    def test_respects_the_umask(self):
        self.file("source", "word", 0o666)
        os.umask(0o077)
        self.copy("source", "copied")
        self.assertEqual(self.mode("copied"), 0o600)

    def test_replaces_an_existing_file(self):
        self.file("source", "new")
        self.file("copied", "old and longer")
        os.link(self.path("copied"), self.path("kept"))
        self.copy("source", "copied")
        self.assertEqual(self.all_files(), {"source": "new", "copied": "new",
                                            "kept": "old and longer"})

    def test_replaces_the_target_of_a_link(self):
        self.file("source", "new")
        os.mkdir(self.path("folder"))
        self.file("folder/copied", "old")
        os.symlink("folder/copied", self.path("link"))
        self.copy("source", "link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.content("folder/copied"), "new")
        self.assertEqual(os.listdir(self.path("folder")), ["copied"])

    def test_creates_the_missing_target_of_a_link(self):
        self.file("source", "word")
        os.mkdir(self.path("folder"))
        os.symlink("folder/copied", self.path("link"))
        os.symlink("../link", self.path("folder/up"))
        for link in ("link", "folder/up"):
            self.copy("source", link)
            self.assertTrue(os.path.islink(self.path(link)))
            self.assertEqual(self.content("folder/copied"), "word")
            os.remove(self.path("folder/copied"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["folder", "link", "source"])

    def test_refuses_a_circular_link_and_a_link_into_a_missing_folder(self):
        self.file("source", "word")
        os.symlink("loop", self.path("loop"))
        os.symlink("missing/file", self.path("lost"))
        self.refuses("source", "loop", says="loop: Too many levels of symbolic links")
        self.refuses("source", "lost", says="missing/file: No such file or directory")
        self.assertTrue(os.path.islink(self.path("lost")))

    def test_keeps_the_mode_of_an_existing_file(self):
        os.umask(0)
        self.file("source", "new", 0o644)
        for mode in (0o600, 0o640, 0o777):
            self.file("copied", "old", mode)
            self.copy("source", "copied")
            self.assertEqual((self.content("copied"), self.mode("copied")), ("new", mode))
        if os.geteuid() == 0:
            os.chown(self.path("copied"), 12345, 54321)
            self.copy("source", "copied")
            status = os.stat(self.path("copied"))
            self.assertEqual((status.st_uid, status.st_gid), (12345, 54321))

    def test_only_the_owner_can_read_an_incomplete_copy(self):
        os.umask(0)
        os.mkfifo(self.path("source"), 0o666)
        self.file("copied", "old", 0o666)
        with subprocess.Popen([PROGRAM, "source", "copied"], cwd=self.folder) as copying:
            with open(self.path("source"), "wb") as source:
                source.write(bytes(2_000_000)) # does not fit into a pipe, so the copy has begun
                source.flush()
                incomplete, = set(os.listdir(self.folder)) - {"source", "copied"}
                self.assertEqual(self.mode(incomplete), 0o600)
            self.assertEqual(copying.wait(TIMEOUT), 0)
        self.assertEqual(os.path.getsize(self.path("copied")), 2_000_000)
        self.assertEqual(self.mode("copied"), 0o666)

    def test_ignores_temporary_files_of_earlier_processes(self):
        self.file("source", "word")
        done = self.in_shell('echo left >.uring_copy.$$; exec "$0" source copied')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.content("copied"), "word")

    def test_refuses_to_copy_a_file_to_itself(self):
        self.file("source", "word")
        os.link(self.path("source"), self.path("hard"))
        os.symlink("source", self.path("soft"))
        names = ["source", "./source", self.path("source"), "hard", "soft"]
        for first in names:
            for second in names:
                self.refuses(first, second, says="cannot copy a file to itself")

    def test_keeps_the_target_if_the_source_cannot_be_opened_or_read(self):
        self.file("copied", "old")
        self.refuses("missing", "copied", says="missing: No such file or directory")
        self.refuses(".", "copied", says="read_fixed: Is a directory")
        self.refuses(".", "none", says="read_fixed: Is a directory")

    def test_keeps_the_target_if_the_copy_cannot_be_written(self):
        self.file("source", "word" * 10_000)
        self.file("copied", "old")
        before = self.all_files()
        done = subprocess.run(
            ["sh", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$0" source copied', PROGRAM],
            cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("write_fixed: File too large", done.stderr)
        self.assertEqual(self.all_files(), before)

    def test_refuses_a_target_that_is_a_folder(self):
        self.file("source", "word")
        os.mkdir(self.path("folder"))
        self.refuses("source", "folder", says="folder: Is a directory")
        self.refuses("source", "none/copied", says="No such file or directory")

    def test_writes_to_a_pipe_without_replacing_it(self):
        self.file("source", "word" * 200_000)
        os.mkfifo(self.path("fifo"))
        with open(self.path("read"), "wb") as out, \
                subprocess.Popen(["cat", "fifo"], cwd=self.folder, stdout=out) as reader:
            self.copy("source", "fifo")
            reader.wait(TIMEOUT)
        self.assertEqual(self.content("read"), "word" * 200_000)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))
        self.assertEqual(sorted(os.listdir(self.folder)), ["fifo", "read", "source"])

    def in_shell(self, script):
        """Runs a shell script in which $0 is uring_copy."""
        return subprocess.run(["sh", "-ec", script, PROGRAM], cwd=self.folder, capture_output=True,
                              text=True, timeout=TIMEOUT, check=False)

    def test_writes_to_a_descriptor_and_keeps_the_contents_of_its_file(self):
        self.file("source", "word" * 200_000)
        os.symlink("/dev/stdout", self.path("link"))
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link", "./link"):
            for redirection in (">>", ">"):
                done = self.in_shell(
                    f"{{ echo begin; $0 source {name}; echo end; }} {redirection}log")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(self.content("log"), "begin\n" + "word" * 200_000 + "end\n")
                self.assertEqual(sorted(os.listdir(self.folder)), ["link", "log", "source"])
                os.remove(self.path("log"))
        self.file("log", "old")
        self.assertEqual(self.in_shell("$0 source /dev/fd/5 5>>log").stderr, "")
        self.assertEqual(self.content("log"), "old" + "word" * 200_000)

    def test_refuses_a_descriptor_that_is_the_source_or_closed(self):
        self.file("source", "word")
        for script, says in (("$0 source /dev/stdout >>source", "cannot copy a file to itself"),
                             ("$0 source /dev/fd/9", "/dev/fd/9: "),
                             ("$0 source /dev/fd/5 5<other", "Bad file descriptor")):
            self.file("other", "other")
            done = self.in_shell(script)
            self.assertEqual(done.returncode, 1, script)
            self.assertIn(says, done.stderr)
            self.assertEqual(self.all_files(), {"source": "word", "other": "other"})


def main():
    with tempfile.TemporaryDirectory(prefix="uring_copy.") as folder:
        probe = run("/dev/null", os.path.join(folder, "copied"))
    if "io_uring_setup" in probe.stderr:
        print(probe.stderr)
        sys.exit(1 if "TRYST_NO_SKIP" in os.environ else SKIPPED)
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    main()
