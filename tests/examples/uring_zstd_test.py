#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests uring_zstd with the system's zstd. usage: uring_zstd_test.py PROGRAM"""

import os
import pty
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from programs import TIMEOUT, main_with_io_uring, run

PROGRAM = sys.argv[1]
BLOCK = 256 * 1024


def noise(size, seed=1):
    """Half of it can be compressed."""
    return random.Random(seed).randbytes(size // 2) + bytes(size - size // 2)


def zstd(*arguments, data=b""):
    return run("zstd", "-q", *arguments, input=data, check=True).stdout


class UringZstd(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "file"

    def write(self, data, name="file"):
        (self.folder / name).write_bytes(data)
        return self.folder / name

    def succeed(self, *arguments, **more):
        done = run(PROGRAM, *arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def contents(self):
        return {path: path.is_file() and path.read_bytes() for path in self.folder.iterdir()}

    def fail(self, why, *arguments, **more):
        """Fails with one line that says why, and changes no file."""
        before = self.contents()
        done = run(PROGRAM, *arguments, **more)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), f"^uring_zstd: .*{why}.*\n$")
        self.assertEqual(self.contents(), before)
        return done

    def test_files_and_pipes_of_all_sizes(self):
        for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 20_000_001):
            data = noise(size)
            self.write(data)
            self.succeed("-f", self.file)
            packed = (self.folder / "file.zst").read_bytes()
            self.assertTrue(zstd("-d", data=packed) == data)
            self.succeed("-f", "-d", self.folder / "file.zst", "-o", self.folder / "again")
            self.assertTrue((self.folder / "again").read_bytes() == data)
            self.assertTrue(zstd("-d", data=self.succeed(input=data)) == data)
            self.assertTrue(self.succeed("-d", input=zstd("-19" if size < BLOCK else "-1", data=data)) == data)

    def test_frames(self):
        a, b = noise(BLOCK), noise(3 * BLOCK, 2)
        skippable = b"\x50\x2a\x4d\x18\4\0\0\0abcd"
        self.assertTrue(self.succeed("-d", input=zstd(data=a) + skippable + zstd(data=b)) == a + b)
        self.assertEqual(self.succeed("-d", input=zstd(data=bytes(100_000_000))), bytes(100_000_000))
        good = zstd("--check", data=b)
        for bad, why in ((good[:-1], "ends within a frame"), (good[:len(good) // 2], "ends within a frame"),
                         (good[:-1] + b"\0", "checksum|Checksum|match"), (b"what is this?", "Unknown frame"),
                         (b"", "ends within a frame"), (good + b"what is this?", "Unknown frame")):
            self.write(bad, "bad.zst")
            self.fail(why, "-d", self.folder / "bad.zst")
            self.write(b"old", "old")
            self.fail(why, "-f", "-d", self.folder / "bad.zst", "-o", self.folder / "old")

    def test_names(self):
        self.write(noise(1000))
        os.chmod(self.file, 0o640)
        self.succeed(self.file)
        self.assertEqual((self.folder / "file.zst").stat().st_mode & 0o777, 0o640)
        self.fail("exists already", self.file)
        self.fail("exists already", "-d", self.folder / "file.zst")
        self.fail("does not end with .zst", "-d", self.file)
        self.fail("No such file", self.folder / "none")
        self.fail("cannot be created", self.file, "-o", self.folder / "none" / "x")
        (self.folder / "inside").mkdir()
        self.fail("is a directory", "-f", self.file, "-o", self.folder / "inside")
        self.fail("cannot read", self.folder, "-o", self.folder / "x")
        self.succeed("-f", self.file, "-o", "/dev/null")
        self.assertTrue(Path("/dev/null").is_char_device())

    def test_a_failure_in_each_stage_ends_all(self):
        self.write(noise(10_000_000))
        self.fail("No space left", self.file, "-o", "/dev/full")
        self.fail("File too large", self.file, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (BLOCK, BLOCK)))
        with subprocess.Popen([PROGRAM, "-c", self.file], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as broken:
            broken.stdout.read(1)
            broken.stdout.close()
            self.assertIn(b"Broken pipe", broken.stderr.read())
        self.assertEqual(broken.returncode, 1)

    def test_a_signal_leaves_the_old_file(self):
        self.write(b"old", "file.zst")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with subprocess.Popen([PROGRAM, "-f", "-q", "-", "-o", self.folder / "file.zst"], stdin=subprocess.PIPE) as running:
                running.stdin.write(noise(4 * BLOCK))
                running.stdin.flush()
                running.send_signal(number)
                self.assertEqual(running.wait(TIMEOUT), -number)
                running.stdin.close()
            self.assertEqual([path.name for path in self.folder.iterdir()], ["file.zst"])
            self.assertEqual((self.folder / "file.zst").read_bytes(), b"old")

    def test_slow_and_nonblocking_pipes(self):
        data = noise(3_000_000)
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        with subprocess.Popen([PROGRAM], stdin=ours, stdout=subprocess.PIPE) as running:
            os.close(ours)

            def feed():
                with os.fdopen(theirs, "wb", buffering=0) as to:
                    for start in range(0, len(data), 10_007):
                        to.write(data[start:start + 10_007])
            feeder = threading.Thread(target=feed)
            feeder.start()
            self.assertTrue(zstd("-d", data=running.stdout.read()) == data)
            feeder.join()
        self.assertEqual(running.returncode, 0)

    def test_knows_a_terminal(self):
        ours, theirs = pty.openpty()
        refused = run(PROGRAM, stdin=subprocess.DEVNULL, stdout=theirs)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(b"standard output is a terminal", refused.stderr)
        with subprocess.Popen([PROGRAM, "-", "-o", self.file], stdin=subprocess.PIPE, stderr=theirs) as running:
            os.close(theirs)
            running.stdin.write(noise(4 * BLOCK))
            running.stdin.flush()
            shown = b""
            while b"\r1.0 MiB => " not in shown:
                shown += os.read(ours, 1000)
            running.stdin.close()
            self.assertEqual(running.wait(TIMEOUT), 0)
        os.close(ours)


if __name__ == "__main__":
    main_with_io_uring(run(PROGRAM, input=b"").stderr.decode())
