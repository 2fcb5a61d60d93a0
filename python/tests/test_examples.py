"""The classes of examples/python. Those for packages of others are tested where the packages are installed."""

import asyncio
import runpy
import sys

import numpy as np
import pytest
from conftest import source

import lamina

folder = source / "examples" / "python"
sys.path[:0] = [str(folder)]
sentences = source / "tests" / "architectures" / "sentences" / "dense"  # it has the prompts "query" and "document"
TEXTS = ["jumps", "five dozen"]


@pytest.fixture(scope="module")
def chat_folder(fixture_model):
    template = "{% for m in messages %}{{ m.role == 'user' and 'w5 ' or 'w6 ' }}{{ m.content }} {% endfor %}w7"
    return fixture_model("llama", {"eos_token_id": None}, {"chat_template.jinja": template})


@pytest.fixture(scope="module")
def chat_model(chat_folder):
    return lamina.load(chat_folder, "cpu")


@pytest.fixture(scope="module")
def embedder():
    return lamina.load(sentences, "cpu")


def run(name, *arguments, monkeypatch, capsys):
    """What an example prints."""
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(folder / name), run_name="__main__")
    return capsys.readouterr().out


def test_an_encoder_of_sentences(embedder, monkeypatch, capsys):
    from sentence_encoder import SentenceEncoder

    encoder = SentenceEncoder(str(sentences), device="cpu")
    assert encoder.encode(TEXTS).tobytes() == embedder.embed(TEXTS).tobytes()
    assert encoder.encode_query("jumps").tobytes() == embedder.embed("the fox: jumps").tobytes()
    assert encoder.encode_document(TEXTS).tobytes() == embedder.embed(TEXTS).tobytes()
    assert encoder.encode("jumps", prompt="the fox: ").tobytes() == encoder.encode_query("jumps").tobytes()
    assert encoder.encode("the quick brown fox jumps " * 50).shape == (encoder.get_sentence_embedding_dimension(),)
    short = encoder.encode(TEXTS, normalize_embeddings=True, truncate_dim=5)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(encoder.similarity(short, short).diagonal(), 1, atol=1e-6)
    printed = run("sentence_encoder.py", sentences, "jumps", *TEXTS, monkeypatch=monkeypatch, capsys=capsys)
    scores = encoder.similarity(encoder.encode_query("jumps"), encoder.encode_document(TEXTS))[0]
    assert sorted(line.split()[0] for line in printed.splitlines()) == sorted(f"{score:.3f}" for score in scores)


def test_classes_for_langchain(chat_folder, chat_model, embedder, monkeypatch, capsys):
    pytest.importorskip("langchain_core")
    from langchain_classes import LaminaChat, LaminaEmbeddings
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    chat = LaminaChat(model=chat_model, options={"max_length": 5})
    said = [SystemMessage("w3"), HumanMessage("w9"), AIMessage("w8"), HumanMessage([{"type": "text", "text": "w4"}])]
    expected = chat_model.generate("w6 w3 w5 w9 w6 w8 w5 w4 w7", max_length=5)
    answer = chat.invoke(said)
    assert answer.content == expected
    assert answer.usage_metadata == {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    assert "".join(chunk.content for chunk in chat.stream(said)) == expected
    first = chat_model.chat("w9", max_length=1).strip()
    assert chat.invoke("w9", stop=[first]).content.strip() == ""
    assert chat.bind(max_length=1).invoke("w9").content.strip() == first
    assert (chat | (lambda message: message.content)).invoke(said) == expected

    async def main():
        assert (await chat.ainvoke(said)).content == expected
        assert "".join([chunk.content async for chunk in chat.astream(said)]) == expected
        both = await chat.abatch([said, "w9"])
        assert [each.content for each in both] == [expected, chat_model.chat("w9", max_length=5)]

    asyncio.run(main())
    embeddings = LaminaEmbeddings(embedder, query_prompt="query", document_prompt="document")
    assert embeddings.embed_query("jumps") == embedder.embed("the fox: jumps").tolist()
    assert embeddings.embed_documents(TEXTS) == embedder.embed(TEXTS).tolist()
    assert asyncio.run(embeddings.aembed_documents(TEXTS)) == embeddings.embed_documents(TEXTS)
    assert asyncio.run(embeddings.aembed_query("jumps")) == embeddings.embed_query("jumps")
    printed = run("langchain_classes.py", chat_folder, "w9", monkeypatch=monkeypatch, capsys=capsys)
    assert printed == chat_model.chat("w9", temperature=0, max_length=200) + "\n"


def test_classes_for_llama_index(chat_model, embedder):
    pytest.importorskip("llama_index.core")
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index_classes import LaminaEmbedding, LaminaLLM

    llm = LaminaLLM(model=chat_model, options={"max_length": 5})
    said = [ChatMessage(role="system", content="w3"), ChatMessage(role="user", content="w9")]
    expected = chat_model.generate("w6 w3 w5 w9 w7", max_length=5)
    assert llm.chat(said).message.content == expected
    assert [each.message.content for each in llm.stream_chat(said)][-1] == expected
    assert "".join(each.delta for each in llm.stream_chat(said)) == expected
    assert llm.complete("w9").text == chat_model.generate("w9", max_length=5)
    assert [each.text for each in llm.stream_complete("w9")][-1] == llm.complete("w9").text

    async def main():
        assert (await llm.achat(said)).message.content == expected
        assert "".join([each.delta async for each in await llm.astream_chat(said)]) == expected
        assert (await llm.acomplete("w9")).text == llm.complete("w9").text

    asyncio.run(main())
    embedding = LaminaEmbedding(model=embedder, query_prompt="query", text_prompt="document")
    assert embedding.get_query_embedding("jumps") == embedder.embed("the fox: jumps").tolist()
    assert embedding.get_text_embedding_batch(TEXTS) == embedder.embed(TEXTS).tolist()
    assert asyncio.run(embedding.aget_query_embedding("jumps")) == embedding.get_query_embedding("jumps")
    index = VectorStoreIndex.from_documents([Document(text=text) for text in TEXTS], embed_model=embedding)
    (found,) = index.as_retriever(similarity_top_k=1).retrieve("five dozen")
    query = embedder.embed("five dozen", prompt_name="query")
    assert found.text == TEXTS[int((embedder.embed(TEXTS) @ query).argmax())]


def test_questions_about_files_with_llama_index(trained, tmp_path, monkeypatch, capsys):
    pytest.importorskip("llama_index.core")
    (tmp_path / "notes.txt").write_text("The fox lives near Dijon. Every night it steals mustard from Madame Dupont.")
    models = trained("smollm2.gguf"), trained("minilm")
    question = [*models, "Where does the fox live?", tmp_path / "notes.txt"]
    assert "Dijon" in run("llama_index_classes.py", *question, monkeypatch=monkeypatch, capsys=capsys)
