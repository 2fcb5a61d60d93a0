#!/usr/bin/env python3
"""A chat model and embeddings for LangChain (pip install langchain-core).

    examples/python/langchain_classes.py MODEL "What is the capital of France?"
"""

import sys
from typing import Any, Dict, List

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict

import lamina

ROLES = {"human": "user", "ai": "assistant"}


class LaminaChat(BaseChatModel):
    """Answers of a model. `options` are those of lamina.GenerateOptions; a call may have more of them."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: lamina.Model
    options: Dict[str, Any] = {}

    @property
    def _llm_type(self):
        return "lamina"

    @property
    def _identifying_params(self):
        return {"model": self.model.name, **self.options}

    def get_num_tokens(self, text):
        return self.model.count_tokens(text, special_tokens=False)

    def _generate(self, messages, stop=None, run_manager=None, **options):
        said = _said(messages)
        return self._result(said, self.model.chat(said, **self._how(stop, options)))

    async def _agenerate(self, messages, stop=None, run_manager=None, **options):
        said = _said(messages)
        return self._result(said, await self.model.chat_async(said, **self._how(stop, options)))

    def _stream(self, messages, stop=None, run_manager=None, **options):
        for piece in self.model.stream_chat(_said(messages), **self._how(stop, options)):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if run_manager:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk

    async def _astream(self, messages, stop=None, run_manager=None, **options):
        async for piece in self.model.stream_chat_async(_said(messages), **self._how(stop, options)):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if run_manager:
                await run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk

    def _how(self, stop, options):
        return {**self.options, **options, **({"stop": stop} if stop else {})}

    def _result(self, said, answer):
        read, written = self.get_num_tokens(self.model.chat_prompt(said)), self.get_num_tokens(answer)
        usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=answer, usage_metadata=usage))])


def _said(messages):
    """LangChain's messages as Lamina takes them."""
    return [{"role": getattr(each, "role", ROLES.get(each.type, each.type)), "content": each.content} for each in messages]


class LaminaEmbeddings(Embeddings):
    """Vectors of texts. `options` are those of lamina.EmbedOptions."""

    def __init__(self, model: lamina.Model, query_prompt=None, document_prompt=None, **options):
        self.model, self.options = model, {"truncate": True, **options}
        self.of_queries, self.of_documents = {"prompt_name": query_prompt}, {"prompt_name": document_prompt}

    def embed_documents(self, texts: List[str]) -> List[List[float]]:
        return self.model.embed(texts, **self.options, **self.of_documents).tolist()

    def embed_query(self, text: str) -> List[float]:
        return self.model.embed(text, **self.options, **self.of_queries).tolist()

    async def aembed_documents(self, texts: List[str]) -> List[List[float]]:
        return (await self.model.embed_async(texts, **self.options, **self.of_documents)).tolist()

    async def aembed_query(self, text: str) -> List[float]:
        return (await self.model.embed_async(text, **self.options, **self.of_queries)).tolist()


if __name__ == "__main__":
    chat = LaminaChat(model=lamina.load(sys.argv[1]), options={"temperature": 0, "max_length": 200})
    for chunk in chat.stream(sys.argv[2]):
        print(chunk.content, end="", flush=True)
    print()
