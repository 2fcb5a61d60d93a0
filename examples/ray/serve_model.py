"""A model behind replicas, with Ray Serve:

    PYTHONPATH=examples/ray serve run serve_model:app model=$PWD/models/g2p replicas=2 devices=cpu
    curl localhost:8000 -d '{"texts": ["vulkan", "transformer"]}'

Texts that wait at the same time are done together, up to `batch` of them. A replica that dies is started again, and the
others answer meanwhile; a request that it had fails with status 500 and may be sent again. The arguments are those of
Replica, see replica.py, with `devices` separated by commas, and `gpus`: how many a replica has, as Ray counts them.
"""

import asyncio

import ray.serve
import starlette.requests
import starlette.responses

from replica import Replica


@ray.serve.deployment
class ServedModel:
    def __init__(self, batch, **replica):
        self.replica = Replica(**replica)
        self.answer.set_max_batch_size(batch)

    @ray.serve.batch(batch_wait_timeout_s=0.005)
    async def answer(self, texts):
        """The pair of each text: a result or an error. Ray calls it with the texts of all requests that wait."""
        return await asyncio.to_thread(self.replica.answers, texts)

    async def __call__(self, request: starlette.requests.Request):
        try:
            texts = (await request.json())["texts"]
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            return _refused('expected a JSON object {"texts": ["...", ...]}')
        answers = await asyncio.gather(*map(self.answer, texts))
        for number, (_, error) in enumerate(answers, 1):
            if error:
                return _refused(f"text {number}: {error}")
        # Vectors are NumPy arrays.
        results = [result.tolist() if hasattr(result, "tolist") else result for result, _ in answers]
        return starlette.responses.JSONResponse({"results": results})


def _refused(why):
    return starlette.responses.JSONResponse({"error": why}, status_code=400)


def app(arguments: dict[str, str]) -> ray.serve.Application:
    given = dict(arguments)
    replicas, batch = int(given.pop("replicas", 1)), int(given.pop("batch", 64))
    cores, gpus = int(given.pop("cores", 1)), float(given.pop("gpus", 0))
    served = ServedModel.options(num_replicas=replicas, max_ongoing_requests=4 * batch,
                                 ray_actor_options={"num_cpus": cores, "num_gpus": gpus})
    return served.bind(batch, cores=cores, devices=given.pop("devices", "auto").split(","), **given)
