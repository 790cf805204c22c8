#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the administrator's pages of pairing_server, with an HTTP client that shares no code with it.

usage: pairing_admin_test.py --server BINARY [TEST...]
"""

import collections
import contextlib
import re
import signal
import socket
import subprocess
import sys
import unittest
import urllib.request

sys.dont_write_bytecode = True # keeps the source tree clean

from pairing_support import (
    BUSY, DISCONNECTED, EXCHANGED, HEADER, TIMED_OUT, TIMEOUT, Client, Server, answer, ask, chosen,
    close_room, main, request)

ADMIN = "--admin-port=0"
REASONS = ("timed_out", "cancelled", "closed", "no_partner", "out_of_memory", "not_selected")
MAX_CONNECTIONS = 16


def ends(samples: dict[str, float]) -> dict[str, float]:
    """The parties that ended without an exchange, by reason."""
    return {reason: samples[f'tryst_ends_total{{reason="{reason}"}}'] for reason in REASONS}


class PairingAdmin(unittest.TestCase):
    def swap(self, server: Server, room: bytes = b"room") -> None:
        with Client(server, request(room, b"1")) as one, Client(server, request(room, b"2")) as two:
            self.assertEqual((one.reply(), two.reply()), ((EXCHANGED, b"2"), (EXCHANGED, b"1")))

    def check_sums(self, samples: dict[str, float]) -> None:
        self.assertEqual(samples["tryst_arrivals_total"],
                         2 * samples["tryst_exchanges_total"] + sum(ends(samples).values())
                         + samples["tryst_waiting"], samples)
        outcomes = sum(value for name, value in samples.items()
                       if name.startswith("pairing_sessions_total"))
        self.assertEqual(samples["pairing_connections_accepted_total"],
                         samples["pairing_connections_refused_total"]
                         + samples["pairing_connections_active"] + outcomes, samples)

    # ---- Pages

    def test_has_no_administrative_port_by_default(self) -> None:
        with Server() as server:
            self.assertIsNone(server.admin)
            self.swap(server)
            server.stop()
            self.assertTrue(server.lines.empty())

    def test_is_scraped_by_an_ordinary_http_client(self) -> None:
        with Server(ADMIN) as server:
            host, port = server.admin
            self.assertEqual(host, "127.0.0.1")
            with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=TIMEOUT) as reply:
                self.assertEqual(reply.headers["Content-Type"],
                                 "text/plain; version=0.0.4; charset=utf-8")
                self.assertIn("pairing_ready 1\n", reply.read().decode())

    def test_metrics_are_in_the_text_format_of_prometheus(self) -> None:
        with Server(ADMIN) as server:
            self.swap(server)
            status, text = server.get("/metrics")
        self.assertEqual(status, 200)
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        for name, kind in types.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
        for line in text.splitlines():
            if not line.startswith("#"):
                self.assertIn(re.split(r"[{ ]", line)[0], types)

    def test_health_pages_say_ok(self) -> None:
        with Server(ADMIN) as server:
            for path in ("/livez", "/readyz", "/readyz?verbose", "http://localhost/livez"):
                self.assertEqual(server.until_page(path, 200), "ok\n", path)

    def test_other_requests_get_a_clear_error(self) -> None:
        with Server(ADMIN) as server:
            for data, status, text in (
                    (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 404, b"/metrics"),
                    (b"GET /metrics/ HTTP/1.0\r\n\r\n", 404, b"not found"),
                    (b"POST /metrics HTTP/1.0\r\nContent-Length: 2\r\n\r\nab", 405, b"Allow: GET, HEAD\r\n"),
                    (b"GET /metrics HTTP/1.1\r\n\r\n", 400, b"not an HTTP/1.1 request"),
                    (b"GET /metrics HTTP/3.0\r\n\r\n", 400, b"not an HTTP/1.1 request"),
                    (b"\x16\x03\x01\0\xff\r\n\r\n" + bytes(range(256)) * 100, 400, b"not an HTTP")):
                reply = server.admin_send(data)
                self.assertTrue(reply.startswith(b"HTTP/1.1 %d " % status), reply)
                self.assertIn(text, reply)

    def test_head_has_the_length_but_no_body(self) -> None:
        with Server(ADMIN) as server:
            reply = server.admin_send(b"HEAD /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertIn(b"\r\nContent-Length: 3\r\n", reply)
            self.assertTrue(reply.endswith(b"\r\n\r\n"), reply)

    def test_answers_http_1_0_and_only_the_first_of_several_requests(self) -> None:
        with Server(ADMIN) as server:
            one = b"GET /livez HTTP/1.0\r\n\r\n"
            for data in (one, one * 100):
                reply = server.admin_send(data)
                self.assertTrue(reply.startswith(b"HTTP/1.1 200 OK\r\n"), reply)
                self.assertIn(b"\r\nConnection: close\r\n", reply)
                self.assertEqual(reply.count(b"HTTP/1.1"), 1)

    # ---- Numbers

    def test_counters_add_up_after_all_kinds_of_ends(self) -> None:
        with Server(ADMIN, "--wait-time=0.5", "--max-waiting-per-room=1") as server:
            with Client(server, request(b"alone")) as client:
                self.assertEqual(client.status(), TIMED_OUT)
            seen = collections.Counter({TIMED_OUT: 1})
            while seen[EXCHANGED] < 40: # on a busy machine, the second of a pair may come too late
                with Client(server, request(b"r", b"1")) as one:
                    with Client(server, request(b"r", b"2")) as two:
                        seen.update((one.status(), two.status()))
            server.until(active=0)
            samples = server.metrics()
            self.check_sums(samples)
            self.assertEqual(2 * samples["tryst_exchanges_total"], seen[EXCHANGED])
            self.assertEqual(ends(samples)["timed_out"], seen[TIMED_OUT])
            self.assertEqual(ends(samples)["no_partner"], seen[BUSY])
            self.assertGreaterEqual(samples["tryst_longest_wait_seconds"], 0.1)
            for outcome, n in (("exchanged", seen[EXCHANGED]), ("timed_out", seen[TIMED_OUT]),
                               ("busy", seen[BUSY])):
                self.assertEqual(samples[f'pairing_sessions_total{{outcome="{outcome}"}}'], n)

    def test_counts_clients_that_wait_and_leave(self) -> None:
        with Server(ADMIN) as server:
            with Client(server, request(b"leaves")), Client(server, request(b"closed")) as closed:
                server.until(waiting=2)
                samples = server.metrics()
                self.check_sums(samples)
                self.assertEqual(samples["pairing_clients_waiting"], 2)
                self.assertEqual(samples["pairing_rooms"], 2)
                with Client(server, close_room(b"closed")) as administrator:
                    administrator.reply()
                closed.status()
            server.until(active=0)
            samples = server.metrics()
            self.check_sums(samples)
            self.assertEqual((ends(samples)["cancelled"], ends(samples)["closed"],
                              samples["tryst_waiting"]), (1, 1, 0))

    def test_counts_clients_that_must_not_wait(self) -> None:
        with Server(ADMIN, "--red-blue", "--max-waiting=1") as server:
            with Client(server, ask(b"room", b"q")) as asks:
                server.until(waiting=1, asking=1)
                self.assertEqual(server.metrics()["pairing_clients_asking"], 1)
                with Client(server, ask(b"room")) as refused:
                    self.assertEqual(refused.status(), BUSY)
                with Client(server, answer(b"room", b"a")) as answers:
                    self.assertEqual(answers.reply(), (EXCHANGED, b"q"))
                self.assertEqual(asks.reply(), (EXCHANGED, b"a"))
            with Client(server, answer(b"room")) as leaves:
                server.until(waiting=1)
                leaves.hang_up_half()
                self.assertEqual(leaves.status(), DISCONNECTED)
            server.until(active=0)
            samples = server.metrics()
            self.check_sums(samples)
            self.assertEqual((samples["tryst_exchanges_total"], ends(samples)["no_partner"],
                              ends(samples)["cancelled"]), (1, 1, 1))

    # ---- Readiness

    def test_is_not_ready_but_answers_while_it_drains(self) -> None:
        with Server(ADMIN, "--send-time=600") as server:
            # This client reads neither its reply nor hangs up, so it delays the end.
            with Client(server, request(b"room")) as client:
                server.until(waiting=1)
                server.signal(signal.SIGTERM)
                self.assertIn("shutting down", server.until_page("/readyz", 503))
                self.assertEqual(server.until_page("/livez", 200), "ok\n")
                self.assertEqual(server.metrics()["pairing_ready"], 0)
                client.status()
            server.ended()

    def test_clients_leave_descriptors_for_the_administrator(self) -> None:
        files = 100
        with Server(ADMIN, files=files) as server, contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(server, request(b"%d" % i)))
                       for i in range(files)]
            self.assertIn("descriptors", server.until_page("/readyz", 503))
            # All administrative connections at once still work.
            idle = [stack.enter_context(socket.create_connection(server.admin, TIMEOUT))
                    for _ in range(MAX_CONNECTIONS - 1)]
            samples = server.metrics()
            self.assertGreater(samples["pairing_accept_pauses_total"], 0)
            self.assertLess(samples["pairing_connections_active"], files)
            server.until_page("/livez", 200)
            for connection in idle:
                connection.close()
            for client in clients[:files // 2]:
                client.close()
            server.until(accepted=files)
            server.until_page("/readyz", 200)
            # The clients that waited in the queue are served now.
            with Client(server, request(b"%d" % (files - 1), b"hello")) as partner:
                self.assertEqual(partner.reply(), (EXCHANGED, b""))

    # ---- Hostile administrators

    def test_refuses_a_head_that_is_too_large(self) -> None:
        with Server(ADMIN) as server:
            with socket.create_connection(server.admin, TIMEOUT) as connection:
                with contextlib.suppress(ConnectionError): # the server may stop reading
                    connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000_000)
                self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 431 "))
            self.assertEqual(server.get("/livez")[0], 200)

    def test_disconnects_a_slow_sender(self) -> None:
        with Server(ADMIN) as server:
            with socket.create_connection(server.admin, TIMEOUT) as connection:
                connection.sendall(b"GET /metrics HTT")
                self.swap(server)
                self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 408 "))

    def test_a_flood_of_connections_disturbs_neither_clients_nor_later_administrators(self) -> None:
        with Server(ADMIN) as server:
            with contextlib.ExitStack() as stack:
                text = ""
                while "too many" not in text: # the server disconnects them after a while
                    for _ in range(MAX_CONNECTIONS):
                        stack.enter_context(socket.create_connection(server.admin, TIMEOUT))
                    _, text = server.get("/livez")
                for i in range(10):
                    self.swap(server, b"%d" % i)
                # Each of them has a few seconds to send its request.
                server.until_page("/livez", 200)

    def test_an_administrator_that_resets_its_connection_is_forgotten(self) -> None:
        with Server(ADMIN) as server:
            for _ in range(3 * MAX_CONNECTIONS):
                with socket.create_connection(server.admin, TIMEOUT) as connection:
                    connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            server.until_page("/livez", 200)

    def test_the_binary_protocol_is_not_spoken_on_the_administrative_port(self) -> None:
        with Server(ADMIN) as server:
            with socket.create_connection(server.admin, TIMEOUT) as connection:
                connection.sendall(HEADER.pack(1, 2, 0, 0, 0) + b"\r\n\r\n")
                self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 400 "))

    # ---- The command line

    def test_reports_an_invalid_port_or_address(self) -> None:
        with Server(ADMIN) as server:
            port = server.admin[1]
            for status, option, why in (
                    (1, f"--admin-port={port}", f"cannot listen on 127.0.0.1 port {port}"),
                    (2, "--admin-port=65536", "--admin-port"),
                    (2, "--admin-address=nowhere", "nowhere")):
                run = subprocess.run([chosen.server, option], capture_output=True, text=True,
                                     timeout=TIMEOUT, check=False)
                self.assertEqual(run.returncode, status, option)
                self.assertIn(why, run.stderr, option)


if __name__ == "__main__":
    main(PairingAdmin, __doc__.splitlines()[0])
