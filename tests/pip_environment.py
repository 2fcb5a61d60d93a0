"""A test that needs packages of PyPI runs itself again in a virtual environment that has them."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import venv


def enter(folder, *installs):
    """Goes on in the environment in `folder`. It is made the first time; each of `installs` lists what a call of pip
    gets: packages and options. If that is impossible, the exit status is 77, or 1 if $LAMINA_REQUIRE_CLIENTS is set."""
    if sys.prefix != sys.base_prefix:
        return
    folder = pathlib.Path(folder)
    python, done = folder / "bin" / "python", folder / "done"
    wanted = "\n".join(word for words in installs for word in words)
    try:
        if not done.exists() or done.read_text() != wanted:
            if importlib.util.find_spec("ensurepip") is None:
                raise OSError("python3 cannot make a virtual environment (Debian: python3-venv)")
            venv.create(folder, with_pip=True, clear=True)
            for words in installs:
                subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words],
                               check=True, timeout=600)
            done.write_text(wanted)
    except (subprocess.SubprocessError, OSError) as why:
        print(f"SKIPPED: clients {', '.join(wanted.split())} cannot be installed: {why}")
        sys.exit(1 if "LAMINA_REQUIRE_CLIENTS" in os.environ else 77)
    os.execv(python, [python, *sys.argv])
