#!/usr/bin/env python3
"""Asks `lamina serve` with the clients that people use: openai, anthropic, LangChain and tritonclient[http], of PyPI.

They are installed into a virtual environment in FOLDER the first time. The exit status is 77 if that is impossible,
unless $LAMINA_REQUIRE_CLIENTS is set.
"""

import pathlib
import sys
import tempfile
from typing import Literal

lamina, environment = sys.argv[1], pathlib.Path(sys.argv[2])
packages = ["openai==3.54.0", "anthropic==2.14.0", "tritonclient[http]==2.73.0", "langchain-openai==1.7.4",
            "openapi-spec-validator==0.9.0"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import pip_environment  # noqa: E402

pip_environment.enter(environment, packages)

import anthropic  # noqa: E402
import langchain_openai  # noqa: E402
import numpy  # noqa: E402
import openai  # noqa: E402
import openapi_spec_validator  # noqa: E402
import pydantic  # noqa: E402
import tritonclient.http  # noqa: E402

from server import Server, lamina_json, repository, spelling, talking, with_words  # noqa: E402


def check_openai(server, models):
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="secret", max_retries=0)
    assert [each.id for each in client.models.list()] == ["sentences", "llama", "g2p", "spelling"]

    wanted = lamina_json(lamina, "run", models["sentences"], "w3 w4", "w7")
    found = client.embeddings.create(model="sentences", input=["w3 w4", "w7"]) # as base64, which the client asks for
    assert [each.embedding for each in found.data] == [each["embedding"] for each in wanted]

    found = client.completions.create(model="g2p", prompt=["hello", "vulkan"])
    assert [each.text for each in found.choices] == ["HH EH1 L OW0", "V AH1 L K AH0 N"]
    assert found.usage.completion_tokens == 10

    wanted = lamina_json(lamina, "chat", models["llama"], "w7 w9", "--max-length", "5")[-1]["content"]
    messages = [{"role": "user", "content": "w7 w9"}]
    found = client.chat.completions.create(model="llama", messages=messages, max_completion_tokens=5, user="me")
    assert found.choices[0].message.content == wanted
    pieces = list(client.chat.completions.create(model="llama", messages=messages, max_tokens=5, stream=True,
                                                 stream_options={"include_usage": True}))
    assert "".join(each.choices[0].delta.content or "" for each in pieces if each.choices) == wanted
    assert pieces[-1].usage.completion_tokens == 5

    class Person(pydantic.BaseModel):
        name: str = pydantic.Field(max_length=8)
        age: int
        likes: list[Literal["tea", "chess"]]

    found = client.chat.completions.parse(model="spelling", messages=messages, response_format=Person, temperature=1,
                                          seed=3, max_completion_tokens=400)
    assert isinstance(found.choices[0].message.parsed, Person), found

    for wrong, kind in [({"model": "llamb"}, openai.NotFoundError), ({"top_logprobs": 30}, openai.BadRequestError)]:
        try:
            client.chat.completions.create(**{"model": "llama", "messages": messages, **wrong})
            raise AssertionError(f"{wrong} was taken")
        except kind as error:
            assert next(iter(wrong)) in (error.body["param"], "model"), error.body
    try:
        openai.OpenAI(base_url=server.url + "/v1", api_key="wrong", max_retries=0).models.list()
        raise AssertionError("a wrong key was taken")
    except openai.AuthenticationError:
        pass


class weather(pydantic.BaseModel):  # the model has no capital letters
    """The weather of a city."""

    city: str = pydantic.Field(max_length=8)
    unit: Literal["c", "f"]


def check_tools(server):
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="secret", max_retries=0)
    asked = {"model": "spelling", "messages": [{"role": "user", "content": "who?"}], "temperature": 1, "seed": 3,
             "max_completion_tokens": 300, "tools": [openai.pydantic_function_tool(weather)],
             "tool_choice": {"type": "function", "function": {"name": "weather"}}}
    found = client.chat.completions.parse(**asked).choices[0]
    assert found.finish_reason == "tool_calls", found
    assert isinstance(found.message.tool_calls[0].function.parsed_arguments, weather)
    with client.chat.completions.stream(**asked) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion().choices[0].message
    assert streamed.tool_calls[0].function.parsed_arguments == found.message.tool_calls[0].function.parsed_arguments

    model = langchain_openai.ChatOpenAI(model="spelling", base_url=server.url + "/v1", api_key="secret", temperature=1,
                                        seed=3, max_completion_tokens=300, max_retries=0)
    called = model.bind_tools([weather], tool_choice="weather").invoke("who?")
    assert called.tool_calls[0]["name"] == "weather" and weather(**called.tool_calls[0]["args"])
    for method in ["json_schema", "function_calling"]:
        assert isinstance(model.with_structured_output(weather, method=method).invoke("who?"), weather)


def check_scores(server):
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="secret", max_retries=0)
    asked = {"model": "llama", "messages": [{"role": "user", "content": "w7"}], "max_completion_tokens": 4,
             "logprobs": True, "top_logprobs": 2, "temperature": 0}
    found = client.chat.completions.create(**asked).choices[0].logprobs.content
    assert [len(each.top_logprobs) for each in found] == [2] * 4
    chunks = client.chat.completions.create(**asked, stream=True)
    parts = [chunk.choices[0].logprobs for chunk in chunks]
    assert [each for part in parts if part for each in part.content] == found
    found = client.completions.create(model="llama", prompt="w7", max_tokens=3, logprobs=1).choices[0].logprobs
    assert [len(found.tokens), len(found.top_logprobs), found.text_offset[0]] == [3, 3, 0]


def check_responses(server, models):
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="secret", max_retries=0)
    wanted = lamina_json(lamina, "chat", models["llama"], "w7 w9", "--max-length", "5")[-1]["content"]
    found = client.responses.create(model="llama", input="w7 w9", max_output_tokens=5)
    assert [found.output_text, found.status, found.usage.output_tokens] == [wanted, "incomplete", 5]
    assert found.incomplete_details.reason == "max_output_tokens"
    with client.responses.stream(model="llama", input="w7 w9", max_output_tokens=5) as stream:
        events = list(stream)
    assert [each.sequence_number for each in events] == list(range(len(events)))
    assert "".join(each.delta for each in events if each.type == "response.output_text.delta") == wanted
    assert events[-1].response.usage == found.usage

    asked = {"model": "spelling", "instructions": "be brief", "temperature": 1, "max_output_tokens": 400,
             "extra_body": {"seed": 3}}
    assert isinstance(client.responses.parse(input="who?", text_format=weather, **asked).output_parsed, weather)
    tools = [{"type": "function", "name": "weather", "parameters": weather.model_json_schema(), "strict": True}]
    asked |= {"tools": tools, "tool_choice": {"type": "function", "name": "weather"}}
    first = client.responses.create(input="who?", **asked)
    call = first.output[-1]
    assert [call.type, call.name, first.status] == ["function_call", "weather", "completed"], first
    weather.model_validate_json(call.arguments)
    with client.responses.stream(input="who?", **asked) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output[-1].name == "weather"
    history = [{"role": "user", "content": "who?"}, *[each.to_dict() for each in first.output],
               {"type": "function_call_output", "call_id": call.call_id, "output": "21"}]
    again = client.responses.create(input=history, **{**asked, "tool_choice": "none", "max_output_tokens": 3})
    assert again.output[0].type == "message"
    for wrong, kind in [({"model": "llamb"}, openai.NotFoundError), ({"background": True}, openai.BadRequestError)]:
        try:
            client.responses.create(**{"model": "llama", "input": "w7", **wrong})
            raise AssertionError(f"{wrong} was taken")
        except kind as error:
            assert error.body["param"] == next(iter(wrong)), error.body


def check_anthropic(server, models):
    client = anthropic.Anthropic(base_url=server.url, api_key="secret", max_retries=0)
    messages = [{"role": "user", "content": [{"type": "text", "text": "w7 w9"}]}]
    wanted = lamina_json(lamina, "chat", models["llama"], "w7 w9", "--max-length", "5")[-1]["content"]
    found = client.messages.create(model="llama", messages=messages, max_tokens=5)
    assert [found.content[0].text, found.stop_reason, found.usage.output_tokens] == [wanted, "max_tokens", 5]
    with client.messages.stream(model="llama", messages=messages, max_tokens=5) as stream:
        assert "".join(stream.text_stream) == wanted
        assert stream.get_final_message().usage == found.usage
    assert client.messages.count_tokens(model="llama", messages=messages).input_tokens == found.usage.input_tokens

    tools = [{"name": "weather", "description": "The weather of a city.", "input_schema": weather.model_json_schema()}]
    asked = {"model": "spelling", "messages": [{"role": "user", "content": "who?"}], "max_tokens": 300, "tools": tools,
             "tool_choice": {"type": "tool", "name": "weather"}, "system": "be brief",
             "extra_body": {"temperature": 1, "seed": 3}}
    found = client.messages.create(**asked)
    assert found.stop_reason == "tool_use", found
    weather(**found.content[-1].input)
    with client.messages.stream(**asked) as stream:
        for _ in stream:
            pass
        assert stream.get_final_message().content[-1].input == found.content[-1].input
    asked["messages"] += [{"role": "assistant", "content": found.content},
                          {"role": "user", "content": [{"type": "tool_result", "tool_use_id": found.content[-1].id,
                                                        "content": "21"}]}]
    assert client.messages.create(**{**asked, "tool_choice": {"type": "none"}, "max_tokens": 3}).content[0].type == "text"
    for wrong, kind in [({"model": "llamb"}, anthropic.NotFoundError), ({"max_tokens": 0}, anthropic.BadRequestError),
                        ({"messages": [*messages, {"role": "assistant", "content": "w1"}]}, anthropic.BadRequestError)]:
        try:
            client.messages.create(**{"model": "llama", "messages": messages, "max_tokens": 5, **wrong})
            raise AssertionError(f"{wrong} was taken")
        except kind as error:
            assert error.body["type"] == "error", error.body
    try:
        anthropic.Anthropic(base_url=server.url, api_key="wrong", max_retries=0).messages.create(
            model="llama", messages=messages, max_tokens=5)
        raise AssertionError("a wrong key was taken")
    except anthropic.AuthenticationError:
        pass


def check_tritonclient(server):
    client = tritonclient.http.InferenceServerClient(server.url.removeprefix("http://"))
    key = {"Authorization": "Bearer secret"}
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("g2p.encode")
    assert client.get_server_metadata(headers=key)["name"] == "lamina"
    metadata = client.get_model_metadata("g2p.encode", headers=key)
    values = {each["name"]: numpy.array([[4, 5, 6]] if len(each["shape"]) == 2 else [3], dtype=numpy.int32)
              for each in metadata["inputs"]}
    results = []
    for binary in [True, False]:
        inputs = []
        for name, value in values.items():
            inputs.append(tritonclient.http.InferInput(name, list(value.shape), "INT32"))
            inputs[-1].set_data_from_numpy(value, binary_data=binary)
        outputs = [tritonclient.http.InferRequestedOutput(each["name"], binary_data=binary)
                   for each in metadata["outputs"]]
        result = client.infer("g2p.encode", inputs, outputs=outputs, headers=dict(key)) # it adds to them
        results.append({each["name"]: result.as_numpy(each["name"]) for each in metadata["outputs"]})
    assert results[0].keys() == results[1].keys() and len(results[0]) > 0
    for name, tensor in results[0].items():
        assert tensor.dtype == numpy.float32 and tensor.size > 0
        assert (tensor == results[1][name]).all()
    try:
        client.infer("g2p.nothing", [], headers=key)
        raise AssertionError("an unknown model was taken")
    except tritonclient.utils.InferenceServerException as error:
        assert "there is no model 'g2p.nothing'" in str(error)


def check_document(server):
    """/openapi.json is one, as its makers check it."""
    openapi_spec_validator.validate(server.get("/openapi.json")[2], cls=openapi_spec_validator.OpenAPIV31SpecValidator)


with tempfile.TemporaryDirectory() as folder:
    made = {"sentences": with_words("sentences", pathlib.Path(folder) / "sentences"),
            "llama": talking(pathlib.Path(folder) / "llama"), "g2p": repository / "models" / "g2p",
            "spelling": spelling(pathlib.Path(folder) / "spelling")}
    with Server(lamina, made.values(), "--api-key", "secret") as running:
        check_openai(running, made)
        check_tools(running)
        check_scores(running)
        check_responses(running, made)
        check_anthropic(running, made)
        check_tritonclient(running)
        check_document(running)
print(f"openai {openai.__version__}, anthropic {anthropic.__version__}, LangChain and tritonclient agree with the command")
