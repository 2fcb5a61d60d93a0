#!/usr/bin/env python3
"""`lamina chat` at a terminal: what a person types, and what ends an answer or the conversation."""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from server import talking  # noqa: E402

lamina = sys.argv.pop(1)
folder = tempfile.TemporaryDirectory()
talker = talking(pathlib.Path(folder.name) / "talker")
tireless = talking(pathlib.Path(folder.name) / "tireless", {"max_position_embeddings": 1 << 20})


class Terminal:
    """`lamina chat` with a terminal as stdin and stdout. What is typed is not shown again."""

    def __init__(self, model, *options):
        self.mine, its = pty.openpty()
        modes = termios.tcgetattr(its)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(its, termios.TCSANOW, modes)
        self.process = subprocess.Popen([lamina, "chat", str(model), "--device", "cpu", *options], stdin=its, stdout=its,
                                        stderr=subprocess.PIPE, env={**os.environ, "TERM": "dumb"})
        os.close(its)
        self.unread = b""

    def type(self, line):
        os.write(self.mine, line)

    def shown_until(self, pattern):
        """What appears, up to the end of this."""
        ended = time.monotonic() + 60
        while not (found := re.search(pattern, self.unread)):
            assert select.select([self.mine], [], [], ended - time.monotonic())[0], self.unread
            self.unread += os.read(self.mine, 65536)
        shown, self.unread = self.unread[:found.end()], self.unread[found.end():]
        return shown

    def answer(self, *lines):
        """To a message of these lines. The prompt for it has been shown."""
        for line in lines[:-1]:
            self.type(line)
            self.shown_until(rb"\. ")
        self.type(lines[-1])
        return self.shown_until(rb"\A[^>]*> ").decode()[:-2]

    def end(self):
        """The exit status, and what is on stderr."""
        _, errors = self.process.communicate(timeout=60)
        os.close(self.mine)
        return self.process.returncode, errors.decode()


def answers(*messages):
    """As the command prints them."""
    done = subprocess.run([lamina, "chat", talker, "--device", "cpu", "--max-length", "5", *messages], check=True,
                          capture_output=True, text=True)
    return [line + "\r\n" for line in done.stdout.splitlines()]


class Chat(unittest.TestCase):
    def test_a_message_that_cannot_be_answered_is_reported_and_left_out(self):
        chat = Terminal(talker, "--max-length", "5")
        chat.shown_until(rb"> ")
        self.assertEqual(chat.answer(b"w7\n"), answers("w7")[0])
        self.assertEqual(chat.answer(b"a\xffb\n"), "")
        self.assertEqual(chat.answer(b"w9 " * 100 + b"\n"), "") # longer than the model's 64 tokens
        self.assertEqual(chat.answer(b"w3\n"), answers("w7", "w3")[1])
        chat.type(b"\x04")
        status, errors = chat.end()
        self.assertEqual(status, 0)
        self.assertIn("stdin, line 2: ", errors)
        self.assertIn("stdin, line 3: ", errors)
        self.assertNotIn("stdin, line 4: ", errors)
        self.assertEqual(errors.count("Ctrl-D ends the conversation"), 1)

    def test_a_backslash_continues_a_line(self):
        chat = Terminal(talker, "--max-length", "5")
        chat.shown_until(rb"> ")
        self.assertEqual(chat.answer(b"w7\\\n", b"w9\\\n", b"w3\n"), answers("w7\nw9\nw3")[0])
        chat.type(b"\x04")
        self.assertEqual(chat.end()[0], 0)

    def test_ctrl_c_ends_an_answer_and_a_second_one_the_program(self):
        chat = Terminal(tireless, "--max-length", "1000000", "--ignore-end")
        chat.shown_until(rb"> ")
        for _ in range(2): # the program goes on after the first
            chat.type(b"w7\n")
            chat.shown_until(rb"w\d+ w\d+")
            chat.process.send_signal(signal.SIGINT)
            chat.shown_until(rb"\r\n> ")
        chat.process.send_signal(signal.SIGINT)
        self.assertEqual(chat.end()[0], 130)

    def test_another_signal_ends_the_program_while_it_answers(self):
        chat = Terminal(tireless, "--max-length", "1000000", "--ignore-end")
        chat.shown_until(rb"> ")
        chat.type(b"w7\n")
        chat.shown_until(rb"w\d+ w\d+")
        chat.process.send_signal(signal.SIGTERM)
        self.assertEqual(chat.end()[0], 128 + signal.SIGTERM)

    def test_lines_of_a_program_end_at_the_first_that_cannot_be_answered(self):
        done = subprocess.run([lamina, "chat", talker, "--device", "cpu", "--max-length", "5"], input=b"w7\\\na\xffb\nw3\n",
                              capture_output=True)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.decode().count("\n"), 1) # a backslash is a part of the first message
        self.assertIn("stdin, line 2: ", done.stderr.decode())
        self.assertNotIn("Ctrl-D", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
