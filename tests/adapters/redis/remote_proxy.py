# SPDX-License-Identifier: MIT
"""A proxy between a process and Redis, on Unix sockets. It can delay, hold back and cut what passes.

A connection that is cut towards the process can stay open towards Redis, with the requests that are held
back. So they can arrive long after the process has connected again.
"""

import contextlib
import os
import random
import socket
import threading
import time

from redis_server import TIMEOUT


def parse(data):
    """Returns the words of the first request in the bytes, and its size; or None if it is not complete."""
    end = data.find(b"\r\n")
    if end < 0:
        return None
    words, position = [], end + 2
    for _ in range(int(data[1:end])):
        end = data.find(b"\r\n", position)
        if end < 0:
            return None
        size = int(data[position + 1:end])
        position = end + 2 + size + 2
        if position > len(data):
            return None
        words.append(data[end + 2:end + 2 + size])
    return words, position


def verb_of(words):
    """What a call of the script does; of other commands, their name."""
    if words[0] in (b"EVALSHA", b"EVAL"):
        return words[3 + int(words[2])].decode()
    return words[0].decode()


class Connection:
    """One connection through the proxy."""

    def __init__(self, proxy, process):
        self.proxy = proxy
        self.process = process
        self.redis = socket.socket(socket.AF_UNIX)
        self.redis.connect(proxy.target)
        self.held = b""
        self.is_holding = False
        self.is_cut = False
        self.drops_replies = False
        self.changed = threading.Condition()
        self.late_replies = b""
        self.threads = [threading.Thread(target=work, daemon=True)
                        for work in (self._requests, self._replies)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def _requests(self):
        data = b""
        with contextlib.suppress(OSError):
            while more := self.process.recv(1 << 16):
                data += more
                passing = []
                while request := parse(data):
                    words, size = request
                    self._pass(verb_of(words), data[:size])
                    data = data[size:]
        if not self.is_cut:
            self.close()

    def _pass(self, verb, request):
        self.proxy.delay()
        with self.changed:
            if not self.is_holding:
                self.is_holding = self.proxy.must_hold(self, verb)
            if self.is_holding:
                self.held += request
                self.changed.notify_all()
                return
            self.redis.sendall(request)

    def _replies(self):
        with contextlib.suppress(OSError):
            while data := self.redis.recv(1 << 16):
                if self.is_cut or self.drops_replies:
                    self.late_replies += data
                    continue
                self.proxy.delay()
                with contextlib.suppress(OSError):
                    self.process.sendall(data)
        if not self.is_cut:
            self.close()

    def cut(self):
        """Ends the connection of the process. What is held back can still be released."""
        self.is_cut = True
        with contextlib.suppress(OSError):
            self.process.shutdown(socket.SHUT_RDWR)

    def release(self):
        """Sends what was held back to Redis after a cut. Returns the replies, which nobody else gets."""
        with contextlib.suppress(OSError):
            self.redis.sendall(self.held)
        self.held = b""
        self.half_close()
        self.threads[1].join(TIMEOUT)
        return self.late_replies

    def resume(self):
        """Passes on what was held back, and all that follows."""
        with self.changed:
            self.is_holding = False
            data, self.held = self.held, b""
            self.redis.sendall(data)

    def half_close(self):
        """As if the process would send nothing more."""
        with contextlib.suppress(OSError):
            self.redis.shutdown(socket.SHUT_WR)

    def close(self):
        self.is_cut = True
        for each in (self.process, self.redis):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Proxy:
    def __init__(self, path, target):
        self.path, self.target = path, target
        self.verbs = set()  # a call with one of these verbs, and all that follows it, is held back
        self.longest_delay = 0
        self.connections = []
        self.random = random.Random(0)
        self.changed = threading.Condition()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(100)
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def _accept(self):
        while True:
            try:
                process = self.listener.accept()[0]
            except OSError:
                return
            try:
                connection = Connection(self, process)
            except OSError:
                process.close()  # Redis is down
                continue
            self.connections.append(connection)  # before its first request can be held back
            connection.start()

    def url(self):
        return "unix://" + self.path

    def drop_replies(self):
        """Nothing that Redis sends on the present connections arrives any more."""
        for connection in list(self.connections):
            connection.drops_replies = True

    def must_hold(self, connection, verb):
        with self.changed:
            if verb in self.verbs and not connection.is_cut:
                self.verbs = set()  # this connection, and no later one
                self.changed.notify_all()
                return True
            return False

    def delay(self):
        if self.longest_delay:
            time.sleep(self.random.uniform(0, self.longest_delay))

    def hold(self, *verbs):
        """Holds back the next call with one of the verbs, and what follows on its connection."""
        with self.changed:
            self.verbs = set(verbs)

    def held(self):
        """Waits until something is held back. Returns its connection."""
        with self.changed:
            assert self.changed.wait_for(lambda: not self.verbs, TIMEOUT), "nothing to hold back"
        for connection in list(self.connections):
            with connection.changed:
                if connection.is_holding:
                    assert connection.changed.wait_for(lambda: connection.held, TIMEOUT)
                    return connection
        raise AssertionError("nothing is held back")

    def cut(self, *verbs):
        """Ends all connections of processes. Of later ones, holds back the next call with one of the verbs."""
        with self.changed:
            connections = list(self.connections)
            for connection in connections:
                connection.is_cut = True
            self.verbs = set(verbs)
        for connection in connections:
            connection.cut() if connection.held else connection.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join(TIMEOUT)
        for connection in self.connections:
            connection.close()
        for connection in self.connections:
            for thread in connection.threads:
                thread.join(TIMEOUT)
            connection.process.close()
            connection.redis.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)
