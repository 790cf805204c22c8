#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests uring_zstd. The system's zstd, sha256sum and cmp check its output.

usage: uring_zstd_test.py --program BINARY [options] [TEST...]

No test sleeps to order events: full or empty pipes stop a pipeline at a known point. If io_uring is
missing or forbidden, or all tests were skipped, the exit status is 77 (skipped). With TRYST_NO_SKIP
in the environment, skipped tests count as failed.
"""

import argparse
import contextlib
import ctypes
import errno
import fcntl
import os
import pty
import random
import resource
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TIMEOUT = 60
SKIPPED = 77
KIB, MIB = 1 << 10, 1 << 20

chosen = argparse.Namespace()


def data_of(size, seed=1):
    """Returns data that compresses well and does not repeat itself."""
    source = random.Random(seed)
    words = [source.randbytes(source.randrange(3, 40)) for _ in range(5000)]
    return b"".join(source.choices(words, k=size // 20 + 20))[:size]


# Measures the peak memory of a program as its parent. The parent must be small, because the peak of
# a child includes the memory of its parent at the start.
MEASURE = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(process, 0)
print(usage.ru_maxrss if status == 0 else -1)
"""


class SystemCall:
    """A preexec_fn that makes a system call fail in the started program, by a seccomp(2) filter."""
    NUMBERS = {"openat": (257, 56), "linkat": (265, 37), "renameat": (264, 38),
               "renameat2": (316, 276)} # x86-64, others

    def __init__(self, name, error, flags=0, argument=0):
        """If `flags` are given, the call fails only if the argument contains one of them."""
        number = self.NUMBERS[name][0 if os.uname().machine == "x86_64" else 1]
        load, equal, has_flag, give = 0x20, 0x15, 0x45, 0x06
        allow, fail = 0x7fff0000, 0x00050000 | error
        program = [(load, 0, 0, 0), (equal, 0, 3 if flags else 1, number)]
        if flags:
            program += [(load, 0, 0, 16 + 8 * argument), (has_flag, 0, 1, flags)]
        program += [(give, 0, 0, fail), (give, 0, 0, allow)]
        self.code = b"".join(struct.pack("HBBI", *each) for each in program)
        self.length = len(program)

    def __call__(self):
        code = ctypes.create_string_buffer(self.code)
        whole = struct.pack("HP", self.length, ctypes.addressof(code))
        no_new_privileges, seccomp, filter_mode = 38, 22, 2
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        if prctl(no_new_privileges, 1, 0, 0, 0) != 0 or prctl(seccomp, filter_mode, whole) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


# Simulates a file system without O_TMPFILE.
NO_TMPFILE = SystemCall("openat", errno.EOPNOTSUPP, flags=os.O_TMPFILE & ~os.O_DIRECTORY,
                        argument=2)


class UringZstd(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="uring_zstd.", dir=chosen.folder)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = dict(os.environ, LC_ALL="C")

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "cwd": self.folder, "env": self.environment,
                   **options}
        process = subprocess.Popen([chosen.program, *map(str, arguments)], **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()

    def run_it(self, *arguments, status=0, input=None, **options):
        """Returns the program's standard output and standard error."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*arguments, **options)
        out, errors = process.communicate(input, timeout=TIMEOUT)
        self.assertEqual(process.returncode, status, errors)
        return out, errors.decode()

    def refuses(self, *arguments, says, status=1, leaves=None, **options):
        """Checks that the program fails with one line that contains `says`, and creates no file."""
        before = sorted(os.listdir(self.folder)) if leaves is None else leaves
        _, errors = self.run_it(*arguments, status=status, **options)
        self.check_failure(errors, says)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def check_failure(self, errors, says):
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertTrue(errors.startswith("uring_zstd: "), errors)
        for each in [says] if isinstance(says, str) else says:
            self.assertIn(each, errors)

    def tool(self, *words, **options):
        return subprocess.run(words, check=True, cwd=self.folder, timeout=TIMEOUT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options).stdout

    def check_compressed(self, name, data):
        self.tool("zstd", "-q", "-t", name)
        if self.tool("zstd", "-q", "-dc", name) != data:
            self.fail(f"{name} does not decompress to the original data")

    def content(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def check_each(self, *options, size):
        """Compresses, hashes and copies a file of that size."""
        with self.subTest(options=options, size=size):
            data = data_of(size)
            self.file("in", data)
            for workers in (0, 1):
                self.run_it("in", "-f", "-o", "out.zst", "-1", "--workers", workers, *options)
                self.check_compressed("out.zst", data)
            self.run_it("-df", "out.zst", *options)
            self.tool("cmp", "in", "out")
            _, errors = self.run_it("-t", "out.zst", *options)
            self.assertEqual(errors, f"out.zst             : {size} bytes\n")
            out, _ = self.run_it("in", "--hash", *options)
            self.assertEqual(out, self.tool("sha256sum", "in"))
            self.run_it("in", "--copy", "-f", "-o", "out", *options)
            self.tool("cmp", "in", "out")
            self.assertEqual(sorted(os.listdir(self.folder)), ["in", "out", "out.zst"])

    def sizes(self, lanes, buffer=64 * KIB):
        return (0, 1, buffer - 1, buffer, buffer + 1, lanes * buffer + 1)

    # ---- Compressing, hashing and copying

    def test_processes_files_of_all_sizes_with_all_loops_and_lanes(self):
        for loops in (1, 2, 3):
            for lanes in (1, 2, 3):
                for size in self.sizes(lanes):
                    self.check_each("--buffer", "64K", "--loops", loops, "--lanes", lanes,
                                    size=size)

    def test_processes_a_large_file_with_all_loops(self):
        for loops in (1, 2, 3):
            for lanes in (1, 3):
                self.check_each("--loops", loops, "--lanes", lanes, size=15 * MIB)

    def test_accepts_unusual_buffer_sizes_and_numbers_of_lanes(self):
        for options in (("--buffer", "100000"), ("--buffer", "8M"), ("--lanes", 64),
                        ("--lanes", 64, "--buffer", "64k", "--loops", 3)):
            self.check_each(*options, size=9 * MIB + 1)

    def need_direct(self):
        probe = self.file("in", b"probe")
        try:
            os.close(os.open(probe, os.O_RDONLY | os.O_DIRECT))
        except OSError:
            self.skipTest("the file system does not support O_DIRECT")

    def test_direct_accepts_any_file_size(self):
        self.need_direct()
        for loops in (1, 3):
            for size in (0, 1, 511, 512, 4095, 4096, 4097, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1,
                         5 * MIB + 3):
                self.check_each("--direct", "--buffer", "64K", "--loops", loops, size=size)

    def test_direct_detects_that_the_input_shrinks(self):
        self.need_direct()
        path = self.file("in", b"")
        os.truncate(path, 256 << 30) # too large to be read before the test truncates it
        for loops in (1, 2, 3):
            process = self.start("in", "--hash", "--direct", "--loops", loops)
            self.wait_until(lambda process=process: self.has_begun(process))
            os.truncate(path, MIB + 1) # within a sector
            self.assertEqual(process.wait(TIMEOUT), 1)
            self.check_failure(process.stderr.read().decode(),
                               "in: cannot read: the file became shorter")
            os.truncate(path, 256 << 30)

    @staticmethod
    def has_begun(process):
        """Whether the process has created a ring, and so has determined the size of its input."""
        folder = f"/proc/{process.pid}/fd"
        with contextlib.suppress(OSError): # a descriptor may be closed meanwhile
            return any("io_uring" in os.readlink(os.path.join(folder,
                                                              each)) for each in os.listdir(folder))
        return False

    def test_refuses_direct_without_support_by_the_file_system(self):
        self.refuses("/proc/cpuinfo", "--direct", "-o", "out",
                     says="/proc/cpuinfo: cannot bypass the page cache")
        os.mkfifo(self.path("pipe"))
        keep_open = os.open(self.path("pipe"), os.O_RDWR)
        self.refuses("pipe", "--direct", "-o", "out", says="not a regular file")
        os.close(keep_open)

    def test_reads_proc_and_sys_files_to_their_end(self):
        self.run_it("/proc/version", "-o", "out.zst")
        with open("/proc/version", "rb") as file:
            self.check_compressed("out.zst", file.read())
        out, _ = self.run_it("/proc/kallsyms", "--hash", "--lanes", "3") # all its reads are short
        self.assertEqual(out, self.tool("sha256sum", "/proc/kallsyms"))
        setting = "/sys/devices/system/cpu/possible" # reports the size of a page
        out, _ = self.run_it(setting, "--hash")
        self.assertEqual(out, self.tool("sha256sum", setting))

    def test_compresses_as_well_as_zstd_into_one_frame(self):
        data = data_of(5 * MIB)
        self.file("in", data)
        for level, workers, threads in ((1, 1, "-T1"), (3, 1, "-T1"), (3, 0, "--single-thread"),
                                        (9, 2, "-T2"), (19, 0, "--single-thread")):
            self.run_it("in", "-f", f"-{level}", "--workers", workers)
            self.tool("zstd", "-q", "-f", threads, f"-{level}", "in", "-o", "theirs")
            details = self.tool("zstd", "-lv", "in.zst").decode()
            self.assertIn("Check: XXH64", details)
            self.assertIn(f"({len(data)} B)", details)
            frames = [each for each in details.splitlines() if "Zstandard Frames" in each]
            self.assertIn("1", frames[0])
            ours, theirs = (os.path.getsize(self.path(each)) for each in ("in.zst", "theirs"))
            self.assertLess(ours, 1.001 * theirs)
            self.check_compressed("in.zst", data)

    def test_the_default_output_has_the_permissions_and_time_of_the_input(self):
        path = self.file("in", b"data")
        os.chmod(path, 0o640)
        os.utime(path, (1, 1234567890))
        _, errors = self.run_it("in")
        self.assertRegex(
            errors, r"^in                   :\d+\.\d\d%   \(     4 B =>     \d\d B, in.zst\)\n$")
        made = os.stat(self.path("in.zst"))
        self.assertEqual(stat.S_IMODE(made.st_mode), 0o640)
        self.assertEqual(made.st_mtime, 1234567890)

    def test_only_the_owner_can_open_an_incomplete_output(self):
        path = self.file("in", data_of(5 * MIB))
        os.chmod(path, 0o666)
        for filter in (None, NO_TMPFILE):
            with open(path, "rb") as source:
                process = self.start("--copy", "-", "-o", "out", stdin=source, preexec_fn=filter)
            process.wait(TIMEOUT)
            self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o666)
            os.unlink(self.path("out"))
            process = self.start_writing("-o", "out", preexec_fn=filter)
            modes = [stat.S_IMODE(os.stat(f"/proc/{process.pid}/fd/{each}").st_mode)
                     for each in os.listdir(f"/proc/{process.pid}/fd")
                     if os.readlink(f"/proc/{process.pid}/fd/{each}").startswith(self.folder)]
            self.assertEqual(modes, [0o600])
            process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 0)
            os.unlink(self.path("out"))

    def test_the_output_has_the_owner_of_the_input(self):
        path = self.file("in", b"data")
        if os.geteuid() == 0:
            os.chown(path, 64321, 54321)
        self.run_it("in")
        before, after = (os.stat(self.path(each)) for each in ("in", "in.zst"))
        self.assertEqual((after.st_uid, after.st_gid), (before.st_uid, before.st_gid))

    def test_reduces_permissions_if_the_group_cannot_be_set(self):
        shutil.copy(chosen.program, self.path("program"))
        os.chmod(self.folder, 0o777)
        other = {"user": 64321, "group": 64321, "extra_groups": []} if os.geteuid() == 0 else {}
        path = self.file("in", b"data")
        for before, after in ((0o664, 0o644), (0o604, 0o600), (0o757, 0o755), (0o646, 0o644)):
            os.chmod(path, before)
            subprocess.run(["./program", "in"], cwd=self.folder, env=self.environment,
                           timeout=TIMEOUT,
                           check=True, capture_output=True, **other)
            made = os.stat(self.path("in.zst"))
            self.assertEqual(oct(stat.S_IMODE(made.st_mode)), oct(after if other else before))
            os.unlink(self.path("in.zst"))

    def test_quotes_names_like_sha256sum(self):
        for name in ("two\nlines", "back\\slash", "carriage\rreturn", "-"):
            self.file(name, b"data")
            out, _ = self.run_it("--hash", "--", "./" + name)
            self.assertEqual(out, self.tool("sha256sum", "./" + name))

    # ---- Decompressing

    SKIPPABLE = struct.pack("<II", 0x184D2A53, 1000) + bytes(1000)

    def compressed(self, data, *options):
        """Compresses the data with zstd."""
        return self.tool("zstd", "-q", "-c", *options, input=data)

    def test_decompresses_output_of_zstd(self):
        data = data_of(5 * MIB)
        for options in (("-1",), ("-19",), ("-T2", "-3"), ("--no-check",), ("--long=27",),
                        ("--fast=5",)):
            self.file("in.zst", self.compressed(data, *options))
            for means in ((), ("--loops", 1, "--lanes", 1), ("--loops", 2, "--buffer", "64K")):
                self.run_it("-dq", "in.zst", "-f", *means)
                self.assertEqual(self.content("in"), data)
        self.run_it("in", "-fq")
        self.tool("zstd", "-d", "-f", "-q", "in.zst")
        self.assertEqual(self.content("in"), data)

    def test_decompresses_consecutive_frames(self):
        parts = [data_of(size, seed=size) for size in (0, 1, 300 * KIB, 0, 256 * KIB)]
        frames = [self.compressed(each) for each in parts]
        for pieces, whole in ((frames, b"".join(parts)), ([self.SKIPPABLE], b""),
                              ([frames[0]], b""),
                              ([self.SKIPPABLE, frames[2], self.SKIPPABLE, frames[4],
                                self.SKIPPABLE],
                               parts[2] + parts[4])):
            self.file("in.zst", b"".join(pieces))
            for means in ((), ("--loops", 1, "--lanes", 1), ("--loops", 2, "--buffer", "64K")):
                self.run_it("-t", "in.zst", *means)
                self.run_it("-d", "in.zst", "-f", *means)
                self.assertEqual(self.content("in"), whole)
                self.assertEqual(self.tool("zstd", "-q", "-dc", "in.zst"), whole)

    def test_decompresses_data_that_expands_a_thousandfold(self):
        size = 100 * MIB
        with open(self.path("in"), "wb") as file:
            file.truncate(size)
        self.tool("zstd", "-q", "in")
        for loops in (1, 2, 3):
            self.run_it("-d", "in.zst", "-f", "-o", "out", "--loops", loops)
            self.tool("cmp", "in", "out")

    def test_refuses_invalid_and_truncated_data(self):
        good = self.compressed(data_of(MIB))
        corrupt = bytearray(good)
        corrupt[-1] ^= 1 # in the checksum
        torn = bytearray(good)
        torn[len(good) // 2] ^= 255
        small = self.compressed(b"data")
        window_of_256_mib = struct.pack("<IBB", 0xFD2FB528, 0, 18 << 3) + b"\x01\x00\x00"
        cases = [(corrupt, "Restored data doesn't match checksum"), (torn, ""),
                 (b"", "unexpected end of file"), (b"neither", "it is not in zstd format"),
                 (good + b"garbage", "the data after the last frame is not in zstd format"),
                 (good + b"ab", ""),
                 (good + bytes(512), "the data after the last frame is not in zstd format"),
                 (window_of_256_mib, "the window is larger than 128 MiB"),
                 (self.SKIPPABLE[:-1], "unexpected end of file"),
                 (good + self.SKIPPABLE[:100], "unexpected end of file"),
                 (good + good[:-1], "unexpected end of file"),
                 (good[:len(good) // 2], "unexpected end of file")]
        cases += [(small[:length], "unexpected end of file") for length in range(4, len(small))]
        for data, why in cases:
            self.file("in.zst", data)
            self.file("precious", b"precious")
            theirs = subprocess.run(["zstd", "-q", "-t", "in.zst"], cwd=self.folder,
                                    stderr=subprocess.DEVNULL, check=False)
            self.assertEqual(theirs.returncode, 1)
            for means in ((), ("--loops", 1), ("--loops", 2, "--lanes", 1, "--buffer", "64K")):
                says = [f"in.zst: cannot decompress: {why}"]
                self.refuses("-d", "in.zst", *means, says=says)
                self.refuses("-d", "in.zst", "-f", "-o", "precious", *means, says=says)
                self.refuses("-t", "in.zst", *means, says=says)
            self.assertEqual(self.content("precious"), b"precious")

    def test_a_device_as_input_requires_an_output(self):
        for options in ((), ("-d",), ("-f",)):
            self.refuses("/dev/null", *options,
                         says="/dev/null: cannot name the output: the input is a device")
        self.assertFalse(os.path.exists("/dev/null.zst"))
        out, _ = self.run_it("-c", "/dev/null")
        self.assertEqual(self.tool("zstd", "-dc", "-q", input=out), b"")

    def test_derives_the_name_of_the_decompressed_file(self):
        data = self.compressed(b"data")
        for name, becomes in (("a.zst", "a"), ("b.tzst", "b.tar"), ("c.zst.zst", "c.zst"),
                              (".zst.zst", ".zst")):
            self.file(name, data)
            self.run_it("-d", name)
            self.assertEqual(self.content(becomes), b"data")
            self.refuses("-d", name, says=f"{becomes}: cannot write: the file exists")
        os.mkdir(self.path("folder.zst"))
        for name in ("d", ".zst", "zst", "d.gz", "d.zst.", "folder.zst/d", "folder.zst/.zst"):
            self.file(name, data)
            self.refuses("-d", name, says=f"{name}: cannot decompress: the suffix is not")
            self.run_it("-t", name)
            out, _ = self.run_it("-dc", name)
            self.assertEqual(out, b"data")

    def test_a_decompressed_file_has_the_permissions_and_time_of_the_input(self):
        path = self.file("in.zst", self.compressed(b"data"))
        os.chmod(path, 0o604)
        os.utime(path, (1, 1234567890))
        _, errors = self.run_it("-d", "in.zst")
        self.assertEqual(errors, "in.zst              : 4 bytes\n")
        made = os.stat(self.path("in"))
        self.assertEqual((stat.S_IMODE(made.st_mode), made.st_mtime), (0o604, 1234567890))

    # ---- Several files and options

    def test_a_failed_file_does_not_stop_the_others(self):
        for name in ("a", "b", "c"):
            self.file(name, name.encode())
        self.file("b.zst", b"precious")
        os.mkdir(self.path("folder"))
        _, errors = self.run_it("-q", "a", "missing", "b", "folder", "c", status=1)
        self.assertEqual(errors, "uring_zstd: missing: cannot open: No such file or directory\n"
                                 "uring_zstd: b.zst: cannot write: the file exists; "
                                 "use -f to replace it\n"
                                 "uring_zstd: folder: cannot read: it is a directory\n")
        self.check_compressed("a.zst", b"a")
        self.check_compressed("c.zst", b"c")
        self.assertEqual(self.content("b.zst"), b"precious")
        _, errors = self.run_it("-d", "-f", "a.zst", "b.zst", "c", "c.zst", status=1)
        self.assertEqual(errors, "a.zst               : 1 bytes\n"
                                 "uring_zstd: b.zst: cannot decompress: it is not in zstd format\n"
                                 "uring_zstd: c: cannot decompress: the suffix is not .zst or "
                                 ".tzst; use -o to name the output\n"
                                 "c.zst               : 1 bytes\n")
        self.run_it("-t", "a.zst", "b.zst", "c.zst", status=1)
        self.run_it("-t", "a.zst", "c.zst")

    def test_writes_several_files_to_standard_output(self):
        parts = [data_of(size, seed=size) for size in (300 * KIB, 0, 1)]
        names = [f"part{i}" for i, each in enumerate(parts) if self.file(f"part{i}", each)]
        out, errors = self.run_it("-c", *names)
        self.assertEqual(errors, "")
        self.assertEqual(self.tool("zstd", "-q", "-dc", input=out), b"".join(parts))
        self.run_it(*names)
        for to_standard_output in (("-c",), ("-o", "-")):
            out, _ = self.run_it("-d", *to_standard_output, *(each + ".zst" for each in names))
            self.assertEqual(out, b"".join(parts))
        out, _ = self.run_it("--copy", "-c", "part0", "-", "part2", input=b"standard input")
        self.assertEqual(out, parts[0] + b"standard input" + parts[2])
        out, _ = self.run_it("--hash", *names)
        self.assertEqual(out, self.tool("sha256sum", *names))

    def test_ends_when_standard_output_fails(self):
        self.file("in", data_of(MIB))
        for options in (("-c",), ("--copy", "-c"), ("--hash",)):
            with open("/dev/full", "wb") as full:
                _, errors = self.run_it(*options, "in", "in", stdout=full, status=1)
            self.check_failure(errors, "standard output: cannot write: No space left on device")

    def test_a_signal_stops_all_files(self):
        self.file("in", b"data")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start_writing("--hash", "in") # hashes standard input first
            self.check_interruption(process, number)
            self.assertEqual(process.stdout.read(), b"")

    def test_works_as_a_filter_without_a_file(self):
        data = data_of(MIB)
        out, errors = self.run_it(input=data)
        self.assertEqual(self.tool("zstd", "-q", "-dc", input=out), data)
        self.assertEqual(errors, "")
        out, _ = self.run_it("-d", input=out)
        self.assertEqual(out, data)
        self.run_it("-t", input=self.compressed(data))
        out, _ = self.run_it("--hash", input=data)
        self.assertEqual(out, self.tool("sha256sum", input=data))
        ours, its = pty.openpty()
        _, errors = self.run_it(stdin=its, status=2)
        self.assertIn("FILE: is missing, and standard input is a terminal", errors)
        os.close(ours)
        os.close(its)

    def test_accepts_combined_short_options(self):
        data = data_of(300 * KIB)
        self.file("in", data)
        for options in (("-9c",), ("-c19",), ("-cT2",), ("-cT0",), ("-1kcT1",), ("-k", "-12c"),
                        ("-T", "2", "-c"),
                        ("-c", "--threads=1"), ("-cf", "--stdout"), ("-19", "-5c")):
            out, _ = self.run_it("in", *options)
            self.assertEqual(self.tool("zstd", "-q", "-dc", input=out), data)
        for options in (("-dc",), ("-d", "-19", "-T0", "-c"), ("-kdcfq",),
                        ("--decompress", "--stdout", "--keep")):
            got, _ = self.run_it(*options, input=out)
            self.assertEqual(got, data)
        self.run_it("in", "-qoout")
        self.check_compressed("out", data)
        smallest, largest = (len(self.run_it("in", each)[0]) for each in ("-19c", "-c1"))
        self.assertLess(smallest, largest)

    def test_keeps_option_values_that_look_like_options(self):
        data = data_of(KIB)
        self.file("in", data)
        for options, name in ((("-o", "-1"), "-1"), (("--output", "-5"), "-5"),
                              (("-qo", "-19c"), "-19c"),
                              (("-9o", "-d"), "-d"), (("-o", "-T"), "-T"),
                              (("-o", "--output"), "--output"),
                              (("--output", "--"), "--"), (("-o", "[a,b]"), "[a,b]"),
                              (("-T", "2", "-o", "-2"), "-2")):
            with self.subTest(options=options):
                self.run_it("in", *options)
                self.assertEqual(sorted(os.listdir(self.folder)), sorted(["in", name]))
                self.check_compressed("./" + name, data)
                os.unlink(self.path(name))
        for options in (("--level", "-5"), ("-T", "-1"), ("--lanes", "-2"), ("-o",), ("--output",)):
            self.run_it("in", *options, status=2)
        out, _ = self.run_it("-o", "-", "-1", "in")
        self.assertEqual(self.tool("zstd", "-q", "-dc", input=out), data)

    def test_works_as_a_compression_program_of_tar(self):
        self.file("in", data_of(300 * KIB))
        program = shlex.quote(chosen.program)
        self.tool("tar", "-I", f"{program} -9 -T2", "-cf", "in.tar.zst", "in")
        self.tool("zstd", "-q", "-t", "in.tar.zst")
        os.mkdir(self.path("out"))
        self.tool("tar", "-I", f"{program} -9 -T2", "-xf", "in.tar.zst", "-C", "out")
        self.tool("cmp", "in", "out/in")

    def test_accepts_unusual_file_names(self):
        for name in ("[a,b]", "{}", "%%", "a,b", " ", "--", "-9", "-"):
            self.file(name, b"data")
            self.run_it("--", f"./{name}" if name == "-" else name)
            self.check_compressed(f"./{name}.zst", b"data")
            os.unlink(self.path(name))
        self.refuses("", says=": cannot open: No such file")

    def test_quiet_and_verbose(self):
        self.file("in", b"data")
        self.assertEqual(self.run_it("in", "-q"), (b"", ""))
        self.assertEqual(self.run_it("-dqc", "in.zst"), (b"data", ""))
        _, errors = self.run_it("in", "-fv5")
        self.assertIn("in: compress, level 5, workers: 1, loops: 3, lanes: 4, buffer: 256 KiB\n",
                      errors)
        _, errors = self.run_it("-vdc", "in.zst")
        self.assertEqual(errors, "in.zst: decompress, loops: 3, lanes: 4, buffer: 256 KiB\n"
                                 "in.zst              : 4 bytes\n")

    def test_removes_the_input_only_if_the_output_is_complete(self):
        data = data_of(MIB)
        self.file("in", data)
        self.run_it("in", "-q")
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "in.zst"])
        self.run_it("--rm", "-df", "in.zst")
        self.assertEqual(os.listdir(self.folder), ["in"])
        self.run_it("--rm", "in")
        self.assertEqual(os.listdir(self.folder), ["in.zst"])
        self.check_compressed("in.zst", data)
        self.file("in.zst", self.content("in.zst")[:-1])
        self.refuses("--rm", "-d", "in.zst", says="unexpected end of file")
        self.file("in", data)
        self.refuses("--rm", "in", says="in.zst: cannot write: the file exists")
        for output in ("/dev/null", "/dev/full"):
            self.refuses("--rm", "in", "-o", output,
                         says="in: cannot remove: its output is a stream")
        os.symlink("in", self.path("link"))
        self.refuses("--rm", "link", says="link: cannot remove: not a regular file")
        self.refuses("--rm", "--copy", "-qf", "in", "-o", "in",
                     says="in: cannot remove: it has changed since it was opened")
        self.assertEqual(self.content("in"), data)

    def test_closed_standard_descriptors_are_not_reused_for_files(self):
        data = b"tiny" # shorter than the program's messages
        for closed in ((0, 1, 2), (0, 2), (1, 2), (2,)):
            self.file("in", data)
            self.run_it("-v", "--rm", "in", preexec_fn=lambda closed=closed: self.close_all(closed))
            self.assertEqual(os.listdir(self.folder), ["in.zst"])
            self.check_compressed("in.zst", data)
            os.unlink(self.path("in.zst"))

    def test_reports_closed_standard_streams(self):
        self.file("in", b"data")
        for options, closed, says in ((("-o", "out"), 0,
                                       "standard input: cannot read: Bad file descriptor"),
                                      (("in", "-c"), 1,
                                       "standard output: cannot write: Bad file descriptor"),
                                      (("in", "--hash"), 1,
                                       "standard output: cannot write: Bad file descriptor")):
            self.refuses(*options, preexec_fn=lambda closed=closed: self.close_all([closed]),
                         says=says)

    @staticmethod
    def close_all(descriptors):
        for each in descriptors:
            os.close(each)

    # ---- Pipes

    def test_works_with_slow_and_fast_pipes(self):
        first, second = data_of(100 * KIB + 1), data_of(3 * MIB, seed=2)
        self.file("a", first)
        self.file("b", second)
        program = shlex.quote(chosen.program)
        for options in ("", "--loops 1", "--loops 3 --lanes 1", "--buffer 64K --lanes 3"):
            self.tool("sh", "-ec", f"(cat a; sleep 0.1; cat b) | {program} - -f -o out {options}")
            self.check_compressed("out", first + second)
            self.tool("sh", "-ec", f"{program} b -o - {options} | (sleep 0.1; zstd -q -t)")
            self.tool("sh", "-ec", f"cat b | {program} --copy - -o - {options} | cmp - b")
            self.tool("sh", "-ec", f"cat b | {program} - {options} | zstd -dc | cmp - b")
            self.tool("sh", "-ec",
                      f"(zstd -c a; sleep 0.1; zstd -c b) | {program} -d {options} | "
                      "(sleep 0.1; cat >both)")
            self.assertEqual(self.content("both"), first + second)
            out, _ = self.run_it("--hash", "-", *options.split(), input=second)
            self.assertEqual(out, self.tool("sha256sum", "-", input=second))

    def test_starts_at_the_positions_of_standard_streams(self):
        data = data_of(MIB)
        with open(self.file("in", data), "rb") as source, open(self.path("out"), "ab") as sink:
            source.seek(1000)
            sink.write(b"before")
            sink.flush()
            self.run_it("--copy", "-", "-o", "-", stdin=source, stdout=sink)
        self.assertEqual(self.content("out"), b"before" + data[1000:])

    def test_refuses_to_append_to_its_own_input(self):
        data = data_of(MIB)
        path = self.file("data", data)
        for options in (("--copy", "-"), ("-",), ("--copy", "data")):
            with open(path, "rb") as source, open(path, "ab") as sink:
                # Without a limit, a program that appends to its own input would never end.
                _, errors = self.run_it(*options, "-o", "-", stdin=source, stdout=sink, status=1,
                                        preexec_fn=lambda: self.limit_files(10 * MIB))
            self.check_failure(errors, "standard output: cannot write: it is also the input")
        self.assertEqual(self.content("data"), data)

    @staticmethod
    def limit_files(most):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    def test_works_with_nonblocking_pipes(self):
        data = data_of(2 * MIB)
        from_us, to_it = os.pipe()
        from_it, to_us = os.pipe()
        os.set_blocking(from_us, False)
        os.set_blocking(to_us, False)
        process = self.start("--copy", "-", "-o", "-", stdin=from_us, stdout=to_us)
        os.close(from_us)
        os.close(to_us)

        def feed():
            with open(to_it, "wb") as sink:
                sink.write(data)

        feeder = threading.Thread(target=feed)
        feeder.start()
        with open(from_it, "rb") as source:
            got = source.read()
        feeder.join()
        self.assertEqual(process.wait(TIMEOUT), 0)
        self.assertEqual(got, data)

    def test_writes_to_named_pipes_and_devices_without_replacing_them(self):
        data = data_of(MIB)
        self.file("in", data)
        os.mkfifo(self.path("pipe"))
        process = self.start("in", "--copy", "-o", "pipe")
        self.assertEqual(self.content("pipe"), data)
        self.assertEqual(process.wait(TIMEOUT), 0)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        self.run_it("in", "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_writes_to_descriptors_at_their_positions(self):
        data = data_of(300 * KIB)
        self.file("in", data)
        os.symlink("/proc/self/fd/1", self.path("stdout"))
        os.symlink("stdout", self.path("link"))
        for name in ("stdout", "link", "./link", "/proc/self/fd/1", "/dev/fd/1"):
            for options in ((), ("-f",)):
                with open(self.path("out"), "wb") as sink:
                    sink.write(b"before")
                    sink.flush()
                    self.run_it("in", "--copy", "-o", name, *options, stdout=sink)
                    self.assertEqual(sink.tell(), len(b"before") + len(data))
                self.assertEqual(self.content("out"), b"before" + data)
        with open(self.path("out"), "wb") as sink:
            os.set_inheritable(sink.fileno(), True)
            self.run_it("in", "-o", f"/dev/fd/{sink.fileno()}", pass_fds=[sink.fileno()])
        self.check_compressed("out", data)
        for name, target in (("stdout", "/proc/self/fd/1"), ("link", "stdout")):
            self.assertEqual(os.readlink(self.path(name)), target)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "link", "out", "stdout"])

    def test_appends_to_a_descriptor_of_another_process(self):
        self.file("in", b"data")
        with open(self.file("out", b"before"), "rb+") as sink:
            self.run_it("in", "--copy", "-f", "-o", f"/proc/{os.getpid()}/fd/{sink.fileno()}")
        self.assertEqual(self.content("out"), b"beforedata")

    def test_refuses_unsuitable_descriptors(self):
        self.file("in", b"data")
        self.file("out", b"precious")
        os.symlink("/proc/self/fd/1", self.path("stdout"))
        self.refuses("in", "-f", "-o", "stdout", says="stdout: cannot write: Bad file descriptor",
                     preexec_fn=lambda: self.close_all([1]))
        with open(self.path("out"), "rb") as source:
            self.refuses("in", "-f", "-o", "/dev/fd/0", stdin=source,
                         says="/dev/fd/0: cannot write: Bad file descriptor")
        with open(self.path("out"), "rb+") as sink:
            self.refuses("in", "--direct", "-f", "-o", "stdout", stdout=sink,
                         says="stdout: cannot bypass the page cache")
            self.refuses("out", "-f", "-o", "stdout", stdout=sink,
                         says="stdout: cannot write: it is also the input")
            self.refuses("in", "--rm", "-o", "stdout", stdout=sink,
                         says="in: cannot remove: its output is a stream")
        self.assertEqual(self.content("out"), b"precious")

    # ---- Errors, signals and limits

    def test_reports_files_that_cannot_be_read_or_written(self):
        self.file("in", b"data")
        self.file("in.zst", b"precious")
        self.refuses("missing", says=["missing: cannot open", "No such file"])
        self.refuses(".", "-o", "out", says=".: cannot read: it is a directory")
        self.refuses("in", "-o", ".", says=".: cannot write: it is a directory")
        self.refuses("in", "-o", "no/such/folder", says="no/such/folder: cannot create: No such")
        self.refuses("in", says="in.zst: cannot write: the file exists")
        self.assertEqual(self.content("in.zst"), b"precious")
        self.run_it("in", "-f")
        self.check_compressed("in.zst", b"data")

    def test_replaces_a_symbolic_link_and_not_its_target(self):
        self.file("in", b"data")
        self.file("precious", b"precious")
        os.symlink("precious", self.path("link"))
        os.symlink("nowhere", self.path("dangling"))
        for link in ("link", "dangling"):
            self.refuses("in", "-o", link, says="the file exists")
            self.run_it("in", "-f", "-o", link)
            self.check_compressed(link, b"data")
        self.assertEqual(self.content("precious"), b"precious")

    def test_copies_a_file_to_itself(self):
        data = data_of(3 * MIB)
        self.file("in", data)
        self.run_it("in", "--copy", "-f", "-o", "in")
        self.assertEqual(self.content("in"), data)

    def test_refuses_to_replace_the_input_by_its_compressed_form(self):
        data = data_of(MIB)
        path = self.file("in", data)
        os.link(path, self.path("hard"))
        os.symlink("in", self.path("soft"))
        for name in ("in", "./in", "hard", "soft"):
            self.refuses("in", "-f", "-o", name, says=f"{name}: cannot write: it is also the input")
            with open(path, "rb") as source:
                self.refuses("-", "-f", "-o", name, stdin=source, says="it is also the input")
        self.assertEqual(self.content("in"), data)

    def test_reports_a_full_device(self):
        self.file("in", data_of(5 * MIB))
        for options in (("-o", "/dev/full"), ("--copy", "-o", "/dev/full"),
                        ("--loops", "1", "-o", "/dev/full"), ("--loops", "3", "-o", "/dev/full")):
            self.refuses("in", *options, says="/dev/full: cannot write: No space left on device")
        self.run_it("in")
        for loops in (1, 2, 3):
            self.refuses("-d", "in.zst", "-o", "/dev/full", "--loops", loops,
                         says="/dev/full: cannot write: No space left on device")
        with open("/dev/full", "wb") as full:
            self.refuses("in", "--hash", stdout=full,
                         says="standard output: cannot write: No space")

    def test_reports_a_full_disk(self):
        self.file("in", data_of(20 * MIB))
        os.mkdir(self.path("disk"))
        private = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
        script = 'mount -t tmpfs -o size=1m none disk && "$@"; status=$?; ls -A disk; exit $status'
        try:
            self.tool(*private, "sh", "-c", script, "sh", "true")
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("mount is not permitted")
        self.run_it("in")
        for options in (("in",), ("in", "--copy"), ("in", "--loops", "1", "--workers", "0"),
                        ("in", "--loops", "3", "--lanes", "1"), ("-d", "in.zst"),
                        ("-d", "in.zst", "--loops", "1")):
            words = (*private, "sh", "-c", script, "sh", chosen.program, *options, "-o", "disk/out")
            got = subprocess.run(words, cwd=self.folder, env=self.environment, timeout=TIMEOUT,
                                 capture_output=True, check=False)
            self.assertEqual((got.returncode, got.stdout), (1, b""), got.stderr)
            self.check_failure(got.stderr.decode(),
                               "disk/out: cannot write: No space left on device")

    def test_reports_the_file_size_limit(self):
        self.file("in", data_of(20 * MIB))
        self.file("out", b"precious")

        for options in ((), ("--copy",), ("--loops", "1"), ("--direct",), ("--copy", "--direct")):
            # The kernel writes up to the limit, but O_DIRECT cannot write a partial sector.
            most = MIB if "--direct" in options else MIB + 1
            self.refuses("in", "-f", "-o", "out", *options,
                         preexec_fn=lambda most=most: self.limit_files(most),
                         says="out: cannot write: File too large")
        self.run_it("in")
        self.refuses("-d", "in.zst", "-f", "-o", "out",
                     preexec_fn=lambda: self.limit_files(MIB + 1),
                     says="out: cannot write: File too large")
        self.assertEqual(self.content("out"), b"precious")

    def test_detects_that_the_input_shrinks_and_reads_a_removed_input(self):
        data = data_of(50 * MIB)
        for loops in (1, 2, 3):
            self.file("in", data)
            process = self.start("in", "--copy", "-o", "-", "--loops", loops)
            self.assertEqual(process.stdout.read(1), data[:1]) # the full pipe blocks the program
            os.truncate(self.path("in"), 40 * MIB + 1)
            process.stdout.read()
            self.assertEqual(process.wait(TIMEOUT), 1)
            self.check_failure(process.stderr.read().decode(),
                               "in: cannot read: the file became shorter")

            self.file("in", data)
            process = self.start("in", "--copy", "-o", "-", "--loops", loops)
            got = process.stdout.read(1)
            os.unlink(self.path("in"))
            self.assertEqual(got + process.stdout.read(), data)
            self.assertEqual(process.wait(TIMEOUT), 0)

    def test_ignores_data_appended_to_the_input(self):
        data = data_of(10 * MIB)
        for loops in (1, 2, 3):
            self.file("in", data)
            process = self.start("in", "--copy", "-o", "-", "--loops", loops)
            got = process.stdout.read(1) # the full pipe blocks the program
            with open(self.path("in"), "ab") as file:
                file.write(data)
            self.assertEqual(got + process.stdout.read(), data)
            self.assertEqual(process.wait(TIMEOUT), 0)

    def test_reports_missing_threads(self):
        self.file("in", b"data")
        got = self.run_without_threads("in", "--hash")
        self.assertEqual((got.returncode, got.stdout), (1, b""))
        self.check_failure(got.stderr.decode(),
                           "cannot start a thread: Resource temporarily unavailable")

    def run_without_threads(self, *arguments, before=lambda: None):
        shutil.copy(chosen.program, self.path("program"))
        os.chmod(self.folder, 0o755)
        other = {"user": 64321, "group": 64321,
                 "extra_groups": []} # root may have any number of threads

        def prepare():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
            before()

        return subprocess.run(["./program", *arguments], cwd=self.folder, env=self.environment,
                              timeout=TIMEOUT,
                              capture_output=True, check=False, preexec_fn=prepare,
                              **(other if os.geteuid() == 0 else {}))

    def test_reports_a_broken_pipe(self):
        self.file("in", data_of(50 * MIB))
        for loops in (1, 2, 3):
            process = self.start("in", "-o", "-", "--loops", loops)
            process.stdout.read(1)
            process.stdout.close()
            self.assertEqual(process.wait(TIMEOUT), 1)
            self.check_failure(process.stderr.read().decode(),
                               "standard output: cannot write: Broken pipe")

    def test_a_signal_leaves_no_incomplete_file(self):
        data = data_of(50 * MIB)
        self.file("in", data)
        self.file("out", b"precious")
        before = sorted(os.listdir(self.folder))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for loops in (1, 2, 3):
                for filter in (None, NO_TMPFILE):
                    process = self.start_writing("-f", "-o", "out", "--loops", loops,
                                                 preexec_fn=filter)
                    self.check_interruption(process, number)
                    self.assertEqual(sorted(os.listdir(self.folder)), before)
                # The program waits until it can write.
                process = self.start("in", "-o", "-", "--loops", loops)
                process.stdout.read(1)
                self.check_interruption(process, number)
        self.assertEqual(self.content("out"), b"precious")

    def test_a_signal_at_the_end_of_a_file_stops_the_others(self):
        for name in ("a", "b"):
            self.file(name, b"data")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for loops in (1, 2, 3):
                # The first write to the pipe triggers the signal.
                source, sink = os.pipe()
                process = self.start("--copy", "-c", "a", "b", "--loops", loops, stdout=sink,
                                     preexec_fn=lambda source=source,
                                     number=number: self.signal_when_readable(source, number))
                os.close(sink)
                errors = process.stderr.read().decode()
                with open(source, "rb") as pipe:
                    self.assertEqual(pipe.read(), b"data", errors)
                self.assertEqual(process.wait(TIMEOUT), 130)
                self.check_failure(errors, "interrupted")

    def test_a_signal_takes_precedence_over_an_earlier_failure(self):
        self.file("in", b"data")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            got = self.run_without_threads("in", "in", "--hash",
                                           before=lambda number=number: self.make_pending(number))
            self.assertEqual((got.returncode, got.stdout), (130, b""), got.stderr)
            self.check_failure(got.stderr.decode(), "interrupted")

    @staticmethod
    def make_pending(number):
        """Starts the program with this signal blocked and pending."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
        os.kill(os.getpid(), number)

    @staticmethod
    def signal_when_readable(pipe, number):
        """Makes each write to the pipe send this signal to the calling process."""
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, number)
        fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_ASYNC)

    def start_writing(self, *arguments, **options):
        """Returns a process that has begun to write and waits for more input."""
        process = self.start("-", *arguments, stdin=subprocess.PIPE, **options)
        process.stdin.write(data_of(5 * MIB))
        process.stdin.flush()
        return process

    def need_unnamed_files(self):
        """Changes to a folder whose file system supports O_TMPFILE. Call it first in a test."""
        for each in (self.folder, "/dev/shm"):
            with contextlib.suppress(OSError):
                os.close(os.open(each, os.O_TMPFILE | os.O_WRONLY))
                if each != self.folder:
                    folder = tempfile.TemporaryDirectory(prefix="uring_zstd.", dir=each)
                    self.addCleanup(folder.cleanup)
                    self.folder = folder.name
                return
        self.skipTest("no file system with O_TMPFILE")

    def test_a_kill_leaves_no_incomplete_file(self):
        self.need_unnamed_files()
        self.file("out", b"precious")
        for options in (("-o", "new"), ("-f", "-o", "out"), ("--copy", "-o", "new")):
            process = self.start_writing(*options)
            process.kill()
            process.wait(TIMEOUT)
            self.assertEqual(os.listdir(self.folder), ["out"])
        self.assertEqual(self.content("out"), b"precious")

    def test_works_without_o_tmpfile(self):
        data = data_of(MIB)
        self.file("in", data)
        process = self.start_writing("-o", "out.zst", preexec_fn=NO_TMPFILE)
        temporary = [each for each in os.listdir(self.folder) if each.startswith(".uring_zstd.")]
        self.assertEqual(len(temporary), 1)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "out.zst"])
        self.run_it("in", "-f", "-o", "out.zst", preexec_fn=NO_TMPFILE)
        self.check_compressed("out.zst", data)
        self.refuses("in", "-o", "out.zst", says="out.zst: cannot write: the file exists",
                     preexec_fn=NO_TMPFILE)

    def test_reports_that_the_output_cannot_be_named(self):
        self.need_unnamed_files()
        self.file("in", b"data")
        self.file("out", b"precious")
        for calls, options in ((("renameat", "renameat2"), ("-f", "-o", "out")),
                               (("linkat",), ("-f", "-o", "out")),
                               (("linkat",), ("-o", "new"))):
            filters = [SystemCall(each, errno.EIO) for each in calls]
            self.refuses("in", *options, says=f"{options[-1]}: cannot create: Input/output error",
                         preexec_fn=lambda filters=filters: [install() for install in filters])
        self.assertEqual(self.content("out"), b"precious")

    def test_keeps_a_file_created_during_the_run(self):
        for filter in (None, NO_TMPFILE):
            process = self.start_writing("-o", "out", preexec_fn=filter)
            self.file("out", b"precious")
            process.stdin.close()
            self.assertEqual(process.wait(TIMEOUT), 1)
            self.check_failure(process.stderr.read().decode(), "out: cannot create: File exists")
            self.assertEqual(os.listdir(self.folder), ["out"])
            self.assertEqual(self.content("out"), b"precious")
            os.unlink(self.path("out"))

    def test_works_without_renameat2_flags(self):
        filters = [NO_TMPFILE, SystemCall("renameat2", errno.EINVAL)]
        install = {"preexec_fn": lambda: [each() for each in filters]}
        self.file("in", b"data")
        for options in ((), ("-f",)):
            self.run_it("in", *options, **install)
            self.check_compressed("in.zst", b"data")
            self.assertEqual(sorted(os.listdir(self.folder)), ["in", "in.zst"])
        process = self.start_writing("-o", "out", **install)
        self.file("out", b"precious")
        process.stdin.close()
        self.assertEqual(process.wait(TIMEOUT), 1)
        self.check_failure(process.stderr.read().decode(), "out: cannot create: File exists")
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "in.zst", "out"])
        self.assertEqual(self.content("out"), b"precious")

    def check_interruption(self, process, number):
        process.send_signal(number)
        self.assertEqual(process.wait(TIMEOUT), 130)
        self.check_failure(process.stderr.read().decode(), "interrupted")

    def test_a_signal_does_not_wait_for_slow_compression(self):
        self.file("in", data_of(50 * MIB))
        for loops in (1, 2, 3):
            process = self.start("in", "-19", "--lanes", "1", "--buffer", "8M", "-o", "-",
                                 "--loops", loops)
            process.stdout.read(0)
            self.wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) >= loops)
            process.stdout.close()
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            status = process.wait(TIMEOUT)
            self.assertIn(status, (130, -signal.SIGINT)) # the latter if it has not begun yet
            self.assertLess(time.monotonic() - start, chosen.patience)

    def wait_until(self, condition):
        limit = time.monotonic() + TIMEOUT
        while not condition():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.001)

    def test_ignored_signals_stay_ignored(self):
        process = self.start("--copy", "-", "-o", "-", stdin=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.stdin.write(b"x" * 300 * KIB)
        process.stdin.flush()
        process.stdout.read(1)
        process.send_signal(signal.SIGHUP)
        process.communicate(b"", TIMEOUT)
        self.assertEqual(process.returncode, 0)

    def test_refuses_invalid_options(self):
        self.file("in", b"data")
        for options in (("in", "--nonsense"), ("in", "--level", "0"),
                        ("in", "-20"), ("in", "--level", "x"), ("in", "--lanes", "0"),
                        ("in", "--lanes", "65"), ("in", "--loops", "4"), ("in", "--loops", "0"),
                        ("in", "--buffer", "63K"), ("in", "--buffer", "9M"),
                        ("in", "--buffer", "x"), ("in", "--copy"), ("in", "--copy", "--hash"),
                        ("in", "-dx"), ("in", "-d9x"), ("in", "-20c"), ("in", "-T65"), ("in", "-T"),
                        ("in", "-Tx"),
                        ("in", "-T2", "--workers", "1"), ("in", "more", "-o", "out"),
                        ("in", "-o", ""), ("in", "-c", "-o", "out"),
                        ("in", "-q", "-v"), ("in", "-d", "--hash"),
                        ("in", "-t", "--copy", "-o", "out"),
                        ("in", "--hash", "-c"), ("in", "--rm", "-k"), ("in", "--rm", "-c"),
                        ("in", "--rm", "-t"),
                        ("in", "--rm", "-o", "-"), ("-", "--rm"), ("-", "--rm", "-o", "out"),
                        ("--rm",),
                        ("in", "--rm", "--hash"), ("in", "--direct", "-c"), ("in", "-", "--direct"),
                        ("in", "--hash", "-o", "out"), ("in", "--hash", "-3"),
                        ("in", "--hash", "--workers", "1"),
                        ("in", "--workers", "-1"), ("in", "--workers", "65"),
                        ("in", "--copy", "-o", "out", "-3"), ("-", "--direct", "-o", "out"),
                        ("in", "--direct", "-o", "-")):
            with self.subTest(options=options):
                _, errors = self.run_it(*options, status=2)
                self.assertNotEqual(errors, "")
                self.assertEqual(os.listdir(self.folder), ["in"])
        for option in ("-h", "--help"):
            out, _ = self.run_it(option)
            self.assertIn(b"--lanes", out)
        for option in ("-V", "--version"):
            out, _ = self.run_it(option)
            self.assertRegex(out, rb"^uring_zstd \d+\.\d+\.\d+ \(libzstd 1\.\S+\)\n$")

    # ---- Terminals, memory

    def test_prints_progress_only_on_a_terminal(self):
        self.file("in", data_of(MIB))
        for quiet in ((), ("-q",)):
            ours, its = pty.openpty()
            process = self.start("--copy", "-", "-o", "out", "-f", *quiet, stdin=subprocess.PIPE,
                                 stderr=its)
            os.close(its)
            said = b""
            if not quiet: # wait for progress while the program waits for input
                while b"MB/s" not in said:
                    said += os.read(ours, 1000)
            process.communicate(b"data", TIMEOUT)
            with contextlib.suppress(OSError): # raised at the end of the output
                while more := os.read(ours, 1000):
                    said += more
            os.close(ours)
            if quiet:
                self.assertEqual(said, b"")
            else:
                last = said.split(b"\r\x1b[K")[-1] # the output after the progress is erased
                self.assertRegex(last, rb"^standard input .*100.00%.* out\)\r\n$")

    def test_refuses_to_write_compressed_data_to_a_terminal(self):
        self.file("in", b"data")
        ours, its = pty.openpty()
        self.refuses("in", "-o", "-", stdout=its, says="terminal")
        os.close(ours)
        os.close(its)

    def test_compresses_hashes_and_copies_in_constant_memory(self):
        for options, more in ((("-1", "--workers", "0"), 0),
                              ((), 45), # memory of the worker
                              (("--hash",), 0),
                              (("--copy", "-o", "/dev/null"), 0),
                              (("--copy", "-o", "/dev/null", "--lanes", "16", "--buffer", "2M"),
                               2 * 34)):
            peaks = []
            for size in (100 * MIB, 1000 * MIB):
                with open(self.path("in"), "wb") as file:
                    file.truncate(size)
                words = (sys.executable, "-IS", "-c", MEASURE, chosen.program, "in", "-q", "-f",
                         *options)
                peak = int(self.tool(*words, env=self.environment).split()[-1])
                self.assertGreater(peak, 0)
                peaks.append(peak / 1024)
            with self.subTest(options=options, peaks=peaks):
                self.assertLess(max(peaks), chosen.memory + more)
                self.assertLess(peaks[1], peaks[0] + 1)

    def test_decompresses_in_constant_memory(self):
        peaks = []
        for size in (100 * MIB, 1000 * MIB):
            with open(self.path("in"), "wb") as file:
                file.truncate(size)
            self.tool("zstd", "-q", "-f", "in")
            words = (sys.executable, "-IS", "-c", MEASURE, chosen.program, "-dq", "in.zst", "-o",
                     os.devnull)
            peak = int(self.tool(*words, env=self.environment).split()[-1])
            self.assertGreater(peak, 0)
            peaks.append(peak / 1024)
        self.assertLess(max(peaks), chosen.memory)
        self.assertLess(peaks[1], peaks[0] + 1)

    def test_reports_a_lack_of_memory(self):
        self.file("in", b"data")
        limit = (500 * MIB, 500 * MIB)
        self.refuses("in", "--lanes", "64", "--buffer", "8M", says="not enough memory",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))

    def test_works_if_buffers_cannot_be_locked(self):
        data = data_of(5 * MIB)
        for may_lock in (True, False):
            process = self.start("--copy", "-", "-o", "-", stdin=subprocess.PIPE,
                                 preexec_fn=None if may_lock else self.lock_little)
            process.stdin.write(data[:300 * KIB])
            process.stdin.flush()
            got = os.read(process.stdout.fileno(), 1)
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                pinned = int(next(line for line in file if line.startswith("VmPin")).split()[1])
            if not may_lock or os.geteuid() == 0: # other programs of a user count as well
                self.assertEqual(pinned != 0, may_lock)
            rest, _ = process.communicate(data[300 * KIB:], TIMEOUT)
            self.assertEqual(got + rest, data)
            self.assertEqual(process.returncode, 0)

    @staticmethod
    def lock_little():
        """Limits locked memory: enough for the rings, but not for the buffers."""
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (512 * KIB, 512 * KIB))
        if os.geteuid() == 0: # root's CAP_IPC_LOCK would override the limit
            drop_from_bounding_set, ipc_lock = 24, 14
            if ctypes.CDLL(None, use_errno=True).prctl(drop_from_bounding_set, ipc_lock, 0, 0,
                                                       0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")


def has_io_uring():
    got = subprocess.run([chosen.program, "--hash", os.devnull], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, check=False)
    return b"io_uring_setup" not in got.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the binary of uring_zstd")
    parser.add_argument("--folder", help="the folder for files (default: that of the system)")
    parser.add_argument("--memory", type=float, default=20,
                        help="MB of memory that the program may use")
    parser.add_argument("--patience", type=float, default=10,
                        help="seconds after which a signal must have ended the program")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("tests", nargs="*", help="names of tests (default: all)")
    parser.parse_args(namespace=chosen)
    if chosen.list:
        print(*(name.removeprefix("test_")
                for name in unittest.defaultTestLoader.getTestCaseNames(UringZstd)), sep="\n")
        return
    chosen.program = os.path.abspath(chosen.program)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL) # a shell or nohup may have set them to be ignored
    skipped = 1 if "TRYST_NO_SKIP" in os.environ else SKIPPED
    if not has_io_uring():
        sys.exit(skipped)
    names = [f"UringZstd.test_{name}" for name in chosen.tests] or None
    done = unittest.main(argv=sys.argv[:1] + (["-v"] if not names else []), defaultTest=names,
                         exit=False).result
    if not done.wasSuccessful():
        sys.exit(1)
    if done.skipped and (skipped != SKIPPED or len(done.skipped) == done.testsRun):
        sys.exit(skipped)


if __name__ == "__main__":
    main()
