"""A model on one device, for jobs that have many of them. map_lines.py and serve_model.py run it."""

import fcntl
import itertools
import os
import pathlib

import lamina


class Replica:
    """A model with a device, cores and a cache folder that no other replica of this machine uses.

    model
        A path, the same on every machine.
    task
        What to do with a text: "generate" or "embed", the name of a function of lamina.Model.
    devices
        The devices of a machine, one for each replica that may run there; or a single one that each of them takes.
    cores
        How many cores a replica uses.
    cache
        A folder of each machine for what has been proved of its devices. It stays, so that the next start is quick.
    """

    def __init__(self, model, task="generate", devices=("auto",), cores=1, cache="~/.cache/lamina-replicas"):
        folder = pathlib.Path(cache).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        number, self._place = _take_place(folder)
        usable = sorted(os.sched_getaffinity(0))
        first = number * cores % len(usable)
        os.sched_setaffinity(0, (usable * 2)[first:first + cores]) # Lamina starts a thread for each
        os.environ["XDG_CACHE_HOME"] = str(folder / str(number))
        self.name = f"{os.uname().nodename}/{number}"
        self._compute = getattr(lamina.load(model, devices[number % len(devices)]), task)

    def answers(self, texts):
        """A pair for each text: the result and None, or None and why there is no result."""
        try:
            return [(result, None) for result in self._compute(texts)]
        except lamina.InputError as error: # of one of the texts; nothing has been computed
            if len(texts) == 1:
                return [(None, str(error).removeprefix("text 1: "))]
            middle = len(texts) // 2
            return self.answers(texts[:middle]) + self.answers(texts[middle:])


def _take_place(folder):
    """The first number that no other process of this machine has, and the file that keeps it until the process ends."""
    for number in itertools.count():
        place = (folder / f"{number}.lock").open("a+")
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            place.close()
            continue
        place.truncate(0)
        place.write(str(os.getpid()))
        place.flush()
        return number, place
