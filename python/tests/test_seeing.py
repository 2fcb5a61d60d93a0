"""Models that see and talk: what transformers answers."""

import asyncio
import json
import pickle
import shutil

import pytest

import lamina

from conftest import source

architectures = source / "tests" / "architectures"
files = architectures / "images" / "files"
answers = json.loads((architectures / "seeing" / "expected.json").read_text())
expected = answers["llava"]
how = {"max_length": 6, "ignore_end": True, "temperature": 0}


def talking(folder, name, words):
    shutil.copytree(architectures / "models" / name, folder)
    shutil.copytree(architectures / "seeing" / words, folder, dirs_exist_ok=True)
    return lamina.load(folder, "cpu")


@pytest.fixture(scope="module")
def llava(tmp_path_factory):
    return talking(tmp_path_factory.mktemp("models") / "llava", "llava", "talking")


def messages_of(conversation, image=lambda file: file):
    images, out = iter(conversation["images"]), []
    for message in conversation["messages"]:
        content = message["content"]
        if not isinstance(content, str):
            content = [{**part, "image": image(files / next(images))} if part["type"] == "image" else part
                       for part in content]
        out.append({"role": message["role"], "content": content})
    return out


def words(conversation, special=(1, 2, 50)):
    return " ".join(f"w{i}" for i in conversation["answer"] if i not in special)


@pytest.mark.parametrize("conversation", expected, ids=lambda c: c["prompt"])
def test_answers_are_those_of_transformers(llava, conversation):
    messages = messages_of(conversation)
    assert llava.chat_prompt(messages) == conversation["prompt"]
    assert llava.chat(messages, **how).strip() == words(conversation)
    assert "".join(llava.stream_chat(messages, **how)).strip() == words(conversation)


def test_gguf_files_see_with_a_projector(tmp_path):
    pair = architectures / "models" / "gguf_llava_sees"
    conversation = json.loads((architectures / "seeing" / "projectors.json").read_text())[pair.name][0]
    alone = shutil.copy(pair / "model.gguf", tmp_path / "llava.gguf")
    for model in (lamina.load(pair / "model.gguf", "cpu"), lamina.load(alone, "cpu", mmproj=pair / "mmproj.gguf")):
        for each in (model, pickle.loads(pickle.dumps(model))):
            found = each.chat(messages_of(conversation), **how)
            assert found.split() == words(conversation, (0, 1, 2, 50, 51, 52)).split()
    with pytest.raises(lamina.UsageError, match="give its projector, a file mmproj"):
        lamina.load(alone, "cpu").chat(messages_of(conversation), **how)
    with pytest.raises(lamina.InputError, match="this is no projector"):
        lamina.load(alone, "cpu", mmproj=alone)


@pytest.mark.parametrize("name", ["qwen2_5_vl_sees", "qwen2_vl_sees"])
def test_images_have_any_size(tmp_path, name):
    qwen = talking(tmp_path / name, name, "talking")
    for conversation in json.loads((architectures / "seeing" / "any_size.json").read_text())[name]:
        found = qwen.chat(messages_of(conversation), **how)
        assert found.split() == words(conversation, (0, 1, 2, 50)).split()


def test_images_may_see_all_of_themselves(tmp_path):
    gemma = talking(tmp_path / "gemma", "gemma3_sees", "talking_gemma3")
    for conversation in answers["gemma3_sees"]:
        found = gemma.chat(messages_of(conversation), **how)
        assert found.split() == words(conversation, (1, 2, 49, 50, 51, 52)).split()


def test_images_may_be_arrays(llava):
    as_array = lambda file: lamina.read_image(file).pixels
    for image in (lamina.read_image, as_array, str):
        assert llava.chat(messages_of(expected[0], image), **how).strip() == words(expected[0])


def test_tasks_may_ask(llava):
    async def ask():
        return "".join([piece async for piece in llava.stream_chat_async(messages_of(expected[0]), **how)])

    assert asyncio.run(ask()).strip() == words(expected[0])


def test_what_is_no_image_is_refused(llava, g2p):
    with pytest.raises(lamina.InputError, match="No such file"):
        llava.chat(messages_of(expected[0], lambda _: "absent.png"))
    with pytest.raises(lamina.InputError, match="found it 2 times"):
        llava.chat([{"role": "user", "content": [{"type": "image", "image": files / "photo.png"}, "<image>"]}])
    with pytest.raises(lamina.InputError, match='expected a part such as'):
        llava.chat([{"role": "user", "content": [{"type": "image", "image": files / "photo.png"}, 3]}])
    with pytest.raises(lamina.Error):
        g2p.chat(messages_of(expected[0]))
