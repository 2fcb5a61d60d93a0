"""What is awaited: it runs on a thread, and ends when its task does."""

import asyncio
import contextvars
import threading
import time

import pytest
from conftest import source

import lamina

MANY = ["synchronization", "transformer", "vulkan", "pronunciation"] * 200


@pytest.fixture(scope="module")
def endless(endless_folder):
    return lamina.load(endless_folder, "cpu")


FOREVER = {"max_length": 10**6}


def test_results_are_those_of_the_other_methods(g2p, endless, fixture_model):
    sentences, classes = (lamina.load(fixture_model(name), "cpu") for name in ("sentences", "bert_texts"))

    async def main():
        assert await g2p.generate_async("vulkan") == g2p.generate("vulkan")
        assert await g2p.generate_async(["vulkan", "a"], beams=2) == g2p.generate(["vulkan", "a"], beams=2)
        assert await endless.chat_async("w9", max_length=5) == endless.chat("w9", max_length=5)
        pieces = [piece async for piece in g2p.stream_async("vulkan")]
        assert pieces == list(g2p.stream("vulkan"))
        said = [{"role": "user", "content": "w9"}]
        pieces = [piece async for piece in endless.stream_chat_async(said, max_length=5)]
        assert pieces == list(endless.stream_chat(said, max_length=5))
        vectors = await sentences.embed_async(["w5 w6"], normalize=True)
        assert vectors.tobytes() == sentences.embed(["w5 w6"], normalize=True).tobytes()
        assert (await classes.classify_async("w3"))[0].score == classes.classify("w3")[0].score

    asyncio.run(main())


def test_transcripts_are_awaited(trained):
    whisper = lamina.load(trained("whisper"), "cpu")
    speech = source / "tests" / "real_models" / "expected" / "speech.wav"
    text = whisper.transcribe(speech).text
    assert asyncio.run(whisper.transcribe_async(speech)).text == text
    assert [each.text for each in asyncio.run(whisper.transcribe_async([speech]))] == [text]


def test_other_tasks_run_meanwhile(g2p):
    async def main():
        gaps, last = [], time.monotonic()
        work = asyncio.ensure_future(g2p.generate_async(MANY))
        while not work.done():
            await asyncio.sleep(0.001)
            now = time.monotonic()
            gaps.append(now - last)
            last = now
        return gaps, await work

    gaps, texts = asyncio.run(main())
    assert texts == g2p.generate(MANY)
    assert len(gaps) > 20 and max(gaps) < sum(gaps) / 4


def test_errors_reach_the_task(g2p):
    async def main():
        with pytest.raises(lamina.InputError, match="'4' is not one of"):
            await g2p.generate_async("v4")
        with pytest.raises(lamina.InputError, match="'4' is not one of"):
            async for _ in g2p.stream_async("v4"):
                pass
        with pytest.raises(TypeError, match="no option 'temprature'"):
            await g2p.generate_async("a", temprature=1)

    asyncio.run(main())


def works(model):
    """Whether the model is free within a step of work: a call of its own ends soon."""
    began = time.monotonic()
    assert model.generate("w7", max_length=1).startswith(" w")
    return time.monotonic() - began < 20  # FOREVER takes minutes; most of this is the machine's load


def test_a_cancelled_task_ends_its_generation(endless):
    async def main():
        for begin in (endless.generate_async, endless.chat_async):
            begun = asyncio.Event()
            loop = asyncio.get_running_loop()
            stream = lambda text, piece: loop.call_soon_threadsafe(begun.set)  # noqa: E731
            task = asyncio.ensure_future(begin("w7", stream=stream, **FOREVER))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert works(endless)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(endless.generate_async("w7", **FOREVER), 0.5)
        assert works(endless)

    asyncio.run(main())


def test_a_cancelled_task_ends_what_reads_texts(trained):
    minilm = lamina.load(trained("minilm"), "cpu")
    done = []

    async def main():
        begun, loop = asyncio.Event(), asyncio.get_running_loop()

        def progress(*counts):
            done.append(counts)
            loop.call_soon_threadsafe(begun.set)

        task = asyncio.ensure_future(minilm.embed_async(["It rains in Paris."] * 5000, progress=progress))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await minilm.embed_async(["after it"], progress=lambda *_: done.append("after it")) is not None

    asyncio.run(main())
    assert done[-1] == "after it" and done[-2][0] < 5000


def test_a_task_that_is_cancelled_before_its_turn_never_begins(endless):
    async def main():
        first = asyncio.ensure_future(endless.generate_async("w7", **FOREVER))
        calls = []
        second = asyncio.ensure_future(endless.generate_async("w7", max_length=3, stream=lambda *_: calls.append(1)))
        await asyncio.sleep(0.2)
        second.cancel()
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first, second])
        assert works(endless)
        assert await endless.generate_async("w7", max_length=1)  # after it, if it had been in the line
        assert not calls

    asyncio.run(main())


def test_a_loop_that_is_left_ends_the_generation(endless):
    async def main():
        async for piece in endless.stream_async("w7", **FOREVER):
            assert piece.startswith(" w")
            break
        await asyncio.sleep(0.1)
        assert works(endless)
        stream = endless.stream_async("w7", **FOREVER)
        await stream.__anext__()
        await stream.aclose()
        await asyncio.sleep(0)
        assert works(endless)

    asyncio.run(main())


def test_the_end_of_the_loop_ends_the_generation(endless):
    async def main():
        task = asyncio.ensure_future(endless.generate_async("w7", **FOREVER))
        await asyncio.sleep(0.2)
        return task

    assert asyncio.run(main()).cancelled()
    assert works(endless)


def test_closing_ends_what_is_awaited(fixture_model):
    folder = fixture_model("llama", {"eos_token_id": None, "max_position_embeddings": 10**6})
    model = lamina.load(folder, "cpu")

    async def main():
        tasks = [asyncio.ensure_future(model.generate_async("w7", **FOREVER)) for _ in range(2)]
        stream = model.stream_async("w7", **FOREVER)
        await asyncio.sleep(0.2)
        model.close()
        for task in tasks:
            with pytest.raises(lamina.UsageError, match="closed"):
                await task
        with pytest.raises(lamina.UsageError, match="closed"):
            await stream.__anext__()
        with pytest.raises(lamina.UsageError, match="closed: load it again"):
            await model.generate_async("w7")

    asyncio.run(main())


def test_context_variables_are_seen_by_callbacks(g2p):
    request = contextvars.ContextVar("request")
    seen = []

    async def main():
        request.set("one")
        stream = lambda text, piece: seen.append((request.get(), threading.current_thread().name))  # noqa: E731
        await g2p.generate_async("vulkan", stream=stream)

    asyncio.run(main())
    assert {each for each, _ in seen} == {"one"} and all("lamina" in thread for _, thread in seen)
