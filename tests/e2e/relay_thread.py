# SPDX-License-Identifier: BSD-3-Clause
"""A relay between two sides as a thread and context manager; its error fails the test."""

import socket
import threading


class RelayThread(threading.Thread):
    """Its heirs define turn(), which waits for self.wake among others and returns False once that can be read; and
    sockets(), which are closed at the end."""

    def __init__(self):
        super().__init__(daemon=True)
        self.wake, self.ending = socket.socketpair()
        self.error = None

    def run(self):
        try:
            while self.turn():
                pass
        except BaseException as e:  # noqa: BLE001
            self.error = e

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.ending.send(b".")
        self.join(20)
        for s in (*self.sockets(), self.wake, self.ending):
            s.close()
        if self.error:
            raise self.error
