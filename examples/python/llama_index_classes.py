#!/usr/bin/env python3
"""A language model and embeddings for LlamaIndex (pip install llama-index-core).

    examples/python/llama_index_classes.py CHAT_MODEL EMBEDDING_MODEL "What does the fox do?" notes.txt

answers a question from files: the embeddings find the parts of them that the model is shown.
"""

import sys
from typing import Any, Dict, List, Optional

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from pydantic import ConfigDict

import lamina


class LaminaLLM(CustomLLM):
    """Answers of a model. `options` are those of lamina.GenerateOptions; a call may have more of them."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: lamina.Model
    options: Dict[str, Any] = {}
    context_window: int = 4096

    @property
    def metadata(self):
        return LLMMetadata(
            context_window=self.context_window,
            num_output=self.options.get("max_length", 256),
            is_chat_model=True,
            model_name=self.model.name,
        )

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **options):
        return CompletionResponse(text=self.model.generate(prompt, **self._how(options)))

    @llm_completion_callback()
    def stream_complete(self, prompt, formatted=False, **options):
        text = ""
        for piece in self.model.stream(prompt, **self._how(options)):
            text += piece
            yield CompletionResponse(text=text, delta=piece)

    @llm_completion_callback()
    async def acomplete(self, prompt, formatted=False, **options):
        return CompletionResponse(text=await self.model.generate_async(prompt, **self._how(options)))

    @llm_chat_callback()
    def chat(self, messages, **options):
        return _response(self.model.chat(_said(messages), **self._how(options)))

    @llm_chat_callback()
    def stream_chat(self, messages, **options):
        text = ""
        for piece in self.model.stream_chat(_said(messages), **self._how(options)):
            text += piece
            yield _response(text, piece)

    @llm_chat_callback()
    async def achat(self, messages, **options):
        return _response(await self.model.chat_async(_said(messages), **self._how(options)))

    @llm_chat_callback()
    async def astream_chat(self, messages, **options):
        pieces = self.model.stream_chat_async(_said(messages), **self._how(options))

        async def responses():
            text = ""
            async for piece in pieces:
                text += piece
                yield _response(text, piece)

        return responses()

    def _how(self, options):
        return {"max_length": 256, **self.options, **options}


def _said(messages):
    """LlamaIndex's messages as Lamina takes them."""
    return [{"role": each.role.value, "content": each.content or ""} for each in messages]


def _response(text, delta=None):
    return ChatResponse(message=ChatMessage(role="assistant", content=text), delta=delta)


class LaminaEmbedding(BaseEmbedding):
    """Vectors of texts. `options` are those of lamina.EmbedOptions."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: lamina.Model
    query_prompt: Optional[str] = None
    text_prompt: Optional[str] = None
    options: Dict[str, Any] = {}

    def _get_query_embedding(self, query) -> List[float]:
        return self.model.embed(query, prompt_name=self.query_prompt, **self._how()).tolist()

    def _get_text_embedding(self, text) -> List[float]:
        return self.model.embed(text, prompt_name=self.text_prompt, **self._how()).tolist()

    def _get_text_embeddings(self, texts) -> List[List[float]]:
        return self.model.embed(texts, prompt_name=self.text_prompt, **self._how()).tolist()

    async def _aget_query_embedding(self, query) -> List[float]:
        return (await self.model.embed_async(query, prompt_name=self.query_prompt, **self._how())).tolist()

    async def _aget_text_embedding(self, text) -> List[float]:
        return (await self.model.embed_async(text, prompt_name=self.text_prompt, **self._how())).tolist()

    def _how(self):
        return {"truncate": True, **self.options}


if __name__ == "__main__":
    from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
    from llama_index.core.node_parser import SentenceSplitter

    chat = LaminaLLM(model=lamina.load(sys.argv[1]), options={"temperature": 0})
    embeddings = LaminaEmbedding(model=lamina.load(sys.argv[2]))
    documents = SimpleDirectoryReader(input_files=sys.argv[4:]).load_data()
    splitter = SentenceSplitter(chunk_size=200, chunk_overlap=20, tokenizer=embeddings.model.encode)
    index = VectorStoreIndex.from_documents(documents, embed_model=embeddings, transformations=[splitter])
    print(index.as_query_engine(llm=chat).query(sys.argv[3]))
