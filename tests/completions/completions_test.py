"""completions_test.py SHELL LAMINA COMPLETIONS SCRATCH

Types command lines into an interactive shell, presses Tab, and lets the shell echo what it has made of each.
"""

import os
import pathlib
import pty
import select
import shutil
import signal
import sys
import time

shell, lamina, completions, scratch = sys.argv[1], *(pathlib.Path(p).resolve() for p in sys.argv[2:])

STARTS = {  # without the user's own settings
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETTINGS = {
    "bash": f"bind 'set enable-bracketed-paste off'; source {completions}/lamina.bash",
    "zsh": f"unset zle_bracketed_paste; PS1='> '; fpath=({completions} $fpath); autoload -Uz compinit; "
    f"compinit -D -u; zstyle ':completion:*' verbose no",
    "fish": f"source {completions}/lamina.fish",
}
CASES = {  # what is typed: the words that it becomes
    "lamina doct": ["lamina", "doctor"],
    "lamina plot p": ["lamina", "plot", "pe"],
    "lamina run model --hyp": ["lamina", "run", "model", "--hypotheses"],
    "lamina run model --cache f1": ["lamina", "run", "model", "--cache", "f16"],
    "lamina run model --cache=f1": ["lamina", "run", "model", "--cache=f16"],
    "lamina check layer_n": ["lamina", "check", "layer_norm"],
    "lamina check --device interp": ["lamina", "check", "--device", "interpreter"],
    "lamina run model --variant linear=base": ["lamina", "run", "model", "--variant", "linear=baseline"],
    "lamina inspect blan": ["lamina", "inspect", "blank here"],
    "lamina run model -i ids=ten": ["lamina", "run", "model", "-i", "ids=tensor.npy"],
    "lamina init only": ["lamina", "init", "only-folder"],  # and not only-file
    "lamina run model only-fi": ["lamina", "run", "model", "only-file"],
}


def read_until(terminal, text, end):
    """What the shell writes until `text` has appeared."""
    out = b""
    while text not in out:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        if not ready:
            sys.exit(f"{shell} did not write {text!r}, but {out.decode(errors='replace')!r}")
        out += os.read(terminal, 4096)
    return out


def main():
    program = shutil.which(shell)
    if program is None:
        print(f"SKIPPED: completions of {shell}: it is not installed")
        sys.exit(77)
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in ("blank here", "only-folder", "home"):
        (scratch / folder).mkdir(parents=True)
    for file in ("tensor.npy", "only-file"):
        (scratch / file).write_text("")
    environment = {
        "PATH": f"{lamina.parent}:{os.environ['PATH']}",
        "HOME": str(scratch / "home"),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }
    try:
        child, terminal = pty.fork()
    except OSError as reason:
        print(f"SKIPPED: completions of {shell}: this system has no pseudoterminals ({reason})")
        sys.exit(77)
    if child == 0:
        os.chdir(scratch)
        os.execve(program, STARTS[shell], environment)
    try:
        end = time.monotonic() + 60

        os.write(terminal, f"{SETTINGS[shell]}; printf '%s%s\\n' rea dy\r".encode())
        read_until(terminal, b"ready", end)
        for typed, expected in CASES.items():
            # Around what the line has become, the shell is asked to print its words.
            os.write(terminal, typed.encode() + b"\t" + b"\x01printf '<%s>' begin " + b"\x05 end\r")
            answer = read_until(terminal, b"<end>", end).decode()
            words = answer[answer.index("<begin>") :][1:-1].split("><")[1:-1]
            words = [word.rstrip("/") for word in words]  # zsh takes it away when a blank follows
            if words != expected:
                sys.exit(f"{shell}: {typed!r} becomes {words}, expected {expected}")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


main()
