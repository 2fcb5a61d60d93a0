// Requests of clients, from their text: what is understood, and what is said of the rest.
#include "catch.hpp"

#include "serve/open_inference.hpp"
#include "serve/openai_request.hpp"

using namespace lamina;
using namespace lamina::serve;
using matchers::contains;

namespace {

std::string completion_refusal(const std::string &more) {
    return message_of([&] { (void)completion_request(R"({"model": "m", "prompt": "a")" + more + "}"); });
}
std::string chat_refusal(const std::string &messages) {
    return message_of([&] { (void)chat_request(R"({"model": "m", "messages": )" + messages + "}"); });
}

// As a model's makers may suggest.
GenerateOptions sampling(double temperature, size_t top_k) {
    GenerateOptions out;
    out.temperature = temperature;
    out.top_k = top_k;
    return out;
}

// y = f(x, ids)
ModelGraph graph() {
    ModelGraph out;
    out.inputs = {{"x", DType::f32, "B 2"}, {"ids", DType::i32, "B"}};
    ModelLayer layer;
    layer.outputs = {{"f", DType::f32, "B 2"}};
    out.layers = {layer};
    out.outputs = {{"y", "f"}};
    return out;
}
InferRequest infer(const std::string &body, const std::string &json_bytes = "") {
    return infer_request(infer_body(body, json_bytes), graph());
}
std::string infer_refusal(const std::string &body, const std::string &json_bytes = "") {
    return message_of([&] { (void)infer(body, json_bytes); });
}
const std::string ids = R"({"name": "ids", "shape": [1], "datatype": "INT32", "data": [7]})";

} // namespace

TEST_CASE("a completion has all fields that change numbers, and ignores those that never do") {
    const AnswerRequest r = completion_request(
        R"({"model": "m", "prompt": ["a", "b"], "max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "n": 2, "stop": "x",
            "seed": 3, "stream": true, "stream_options": {"include_usage": true}, "user": "someone", "logprobs": null,
            "frequency_penalty": 0, "logit_bias": {}, "echo": false, "best_of": 2})");
    CHECK(r.model == "m");
    CHECK(r.prompts == std::vector<std::string>{"a", "b"});
    CHECK(r.max_length == 5);
    CHECK(r.choices == 2);
    CHECK(r.stop == std::vector<std::string>{"x"});
    CHECK((r.stream && r.stream_usage));
    const GenerateOptions o = options_of(r, sampling(1, 7), 99);
    CHECK(o.temperature == 0.5);
    CHECK(o.top_k == 7); // as the model's makers suggest
    CHECK(o.top_p == 0.9);
    CHECK(o.seed == 3);
}

TEST_CASE("a field that is wrong, unknown or not supported is named") {
    CHECK_THAT(completion_refusal(R"(, "max_tokens": "5")"),
               contains("request: /max_tokens: expected a whole number from 1"));
    CHECK_THAT(completion_refusal(R"(, "max_tokens": 0)"), contains("/max_tokens"));
    CHECK_THAT(completion_refusal(R"(, "temperature": -1)"), contains("/temperature: expected a number from 0 to 100"));
    CHECK_THAT(completion_refusal(R"(, "top_p": 0)"), contains("/top_p"));
    CHECK_THAT(completion_refusal(R"(, "n": 1000)"), contains("/n: "));
    CHECK_THAT(completion_refusal(R"(, "stop": ["x", 1])"), contains("/stop/1: expected a text, found 1"));
    std::string many;
    for (int i = 0; i < 64; ++i) many += R"("a",)";
    CHECK_THAT(completion_refusal(R"(, "stop": [)" + many + R"("a"])"),
               contains("/stop: expected at most 64 texts, found 65"));
    CHECK_THAT(completion_refusal(R"(, "stop": "")"), contains("/stop: expected texts that are not empty"));
    CHECK_THAT(completion_refusal(R"(, "stop": ["a", ")" + std::string(1 << 14, 'b') + R"("])"),
               contains("/stop: expected at most 16384 bytes, found 16385"));
    std::string biases = R"("0": 1)";
    for (int i = 1; i <= 1024; ++i) biases += ", \"" + std::to_string(i) + "\": 1";
    CHECK_THAT(completion_refusal(R"(, "logit_bias": {)" + biases + "}"),
               contains("/logit_bias: expected at most 1024 tokens, found 1025"));
    CHECK_THAT(completion_refusal(R"(, "stream": 1)"), contains("/stream: expected true or false"));
    CHECK_THAT(completion_refusal(R"(, "max_token": 5)"),
               contains("/max_token: unknown field; did you mean 'max_tokens'?; supported are model, prompt"));
    CHECK_THAT(completion_refusal(R"(, "presence_penalty": 2.5)"),
               contains("/presence_penalty: expected a number from -2 to 2, found 2.5"));
    CHECK_THAT(completion_refusal(R"(, "logprobs": 21)"), contains("/logprobs: expected"));
    CHECK_THAT(completion_refusal(R"(, "logit_bias": {"a": 2})"), contains("/logit_bias/a: expected a token's id"));
    CHECK_THAT(completion_refusal(R"(, "logit_bias": {"1": 200})"),
               contains("/logit_bias/1: expected a number from -100"));
    CHECK_THAT(completion_refusal(R"(, "suffix": "x")"),
               contains(R"(/suffix: not supported: expected no such field, or "")"));
    CHECK_THAT(completion_refusal(R"(, "n": 3, "best_of": 2)"),
               contains(R"(/best_of: expected at least as many as "n", found 2)"));
    CHECK_THAT(completion_refusal(R"(, "mirostat": 1)"), contains("/mirostat: expected 0 or 2, found 1"));
    CHECK_THAT(completion_refusal(R"(, "lora": [{"id": 0, "scale": 1}, {"id": 0, "scale": 2}])"),
               contains("/lora: expected each adapter once, found 0 twice"));
    CHECK_THAT(message_of([] { (void)completion_request("{"); }), contains("request: not JSON"));
    CHECK_THAT(message_of([] { (void)completion_request("[]"); }), contains("request: expected an object"));
    CHECK_THAT(message_of([] { (void)completion_request(R"({"prompt": "a"})"); }), contains("'model' is missing"));
    CHECK_THAT(message_of([] { (void)completion_request(R"({"model": "m", "prompt": ["w1", 2]})"); }),
               contains("/prompt/1: expected a text, found 2"));
    CHECK_THAT(message_of([] { (void)completion_request(R"({"model": "m", "prompt": []})"); }), contains("/prompt"));
}

TEST_CASE("a completion of no tokens is its prompt alone") {
    const AnswerRequest r =
        completion_request(R"({"model": "m", "prompt": "a", "max_tokens": 0, "echo": true, "logprobs": 1})");
    CHECK((r.echo && r.echo_alone && r.max_length == 1));
    const GenerateOptions o = options_of(r, {}, 0);
    CHECK((o.prompt_scores && o.likeliest == 1 && o.max_length == 1));
    CHECK(!options_of(completion_request(R"({"model": "m", "prompt": "a", "echo": true})"), {}, 0).prompt_scores);
}

TEST_CASE("of several answers those of the likeliest tokens are told, whatever the model's own penalty is") {
    const auto penalty = [](const std::string &more) {
        return options_of(completion_request(R"({"model": "m", "prompt": "a", "temperature": 1)" + more + "}"), {}, 0)
            .length_penalty;
    };
    CHECK(penalty(R"(, "best_of": 3)") == 1);
    CHECK(!penalty(R"(, "best_of": 2, "n": 2)"));
    CHECK_THAT(message_of([] {
                   (void)options_of(completion_request(R"({"model": "m", "prompt": "a", "best_of": 3})"), {}, 0);
               }),
               contains("/best_of: has no effect without a temperature"));
}

TEST_CASE("a field without effect is refused, because a client expects one") {
    const AnswerRequest r = completion_request(R"({"model": "m", "prompt": "a", "top_p": 0.5})");
    CHECK_THAT(message_of([&] { (void)options_of(r, {}, 0); }), contains("/top_p: has no effect"));
    CHECK(options_of(r, sampling(0.7, 0), 5).seed == 5);
}

TEST_CASE("messages are texts, whole or in parts, by somebody") {
    const AnswerRequest r = chat_request(
        R"({"model": "m", "max_completion_tokens": 4, "response_format": {"type": "text"}, "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null, "refusal": null},
            {"role": "user", "content": "c", "name": "Eve"}]})");
    REQUIRE(r.messages.size() == 4);
    CHECK(r.messages[0].role == "system");
    CHECK(r.messages[1].content == "ab");
    CHECK(r.messages[2].content.empty());
    CHECK_THAT(r.variables.at("messages"), contains(R"("name":"Eve")"));
    CHECK(r.max_length == 4);
    CHECK_THAT(chat_refusal("[]"), contains("/messages: expected at least one"));
    CHECK_THAT(chat_refusal(R"("hello")"), contains("/messages: expected a list"));
    CHECK_THAT(chat_refusal(R"([{"content": "a"}])"), contains("/messages/0: the key 'role' is missing"));
    CHECK_THAT(chat_refusal(R"([{"role": "user", "content": 5}])"), contains("/messages/0/content: expected a text"));
    CHECK_THAT(chat_refusal(R"([{"role": "user", "content": [{"type": "input_audio"}]}])"),
               contains("/messages/0/content/0/type: only parts of type \"text\" and \"image_url\" are supported"));
    CHECK_THAT(chat_refusal(R"([{"role": "user", "content": "a", "name": 5}])"), contains("/messages/0/name"));
    CHECK_THAT(chat_refusal(R"([{"role": "user", "content": "a", "annotations": []}])"), contains("unknown field"));
    CHECK_THAT(message_of([] {
                   (void)chat_request(R"({"model": "m", "messages": [{"role": "user", "content": "a"}],
                                          "tools": [{"type": "function"}]})");
               }),
               contains("/tools/0: the key 'function' is missing"));
}

TEST_CASE("an answer comes back as OpenAI's and other libraries keep it") {
    const std::string kept = R"([{"role": "assistant", "content": "a", "name": "helper", "annotations": ANNOTATIONS,
        "refusal": null, "audio": null, "function_call": null, "tool_calls": null}])";
    for (const std::string annotations : {"null", "[]", R"([{"type": "url_citation"}])"}) {
        std::string messages = kept;
        messages.replace(messages.find("ANNOTATIONS"), 11, annotations);
        CHECK(chat_refusal(messages).empty());
    }
}

TEST_CASE("top_k of 0 or -1 is all tokens, as vLLM has it, and no other number is below 0") {
    for (const char *all : {"0", "-1"}) {
        const AnswerRequest r =
            completion_request(R"({"model": "m", "prompt": "a", "top_k": )" + std::string(all) + "}");
        CHECK(options_of(r, sampling(0.7, 20), 0).top_k == 0);
        CHECK(options_of(r, {}, 0).top_k == 0); // nothing that only counts with a temperature
    }
    CHECK_THAT(completion_refusal(R"(, "top_k": -2)"), contains("/top_k: expected a whole number from -1 to"));
    CHECK_THAT(completion_refusal(R"(, "min_p": -1)"), contains("/min_p"));
    CHECK_THAT(completion_refusal(R"(, "dry_allowed_length": -1)"), contains("/dry_allowed_length"));
}

TEST_CASE("what an answer must be is said as OpenAI or as vLLM says it") {
    const auto of = [](const std::string &more) {
        const auto read = completion_request(R"({"model": "m", "prompt": "a", )" + more + "}").grammar;
        return read ? std::optional(read()) : std::nullopt;
    };
    CHECK_FALSE(of(R"("response_format": {"type": "text"})"));
    CHECK_FALSE(of(R"("response_format": null)"));
    CHECK(of(R"("response_format": {"type": "json_object"})")->matches("{\"a\": 1}"));
    const auto list = of(R"("response_format": {"type": "json_schema", "json_schema": {"name": "n",
                         "schema": {"type": "array", "items": {"const": "\u00e9\""}, "maxItems": 2}}})");
    CHECK(list->matches("[\"\u00e9\\\"\", \"\u00e9\\\"\"]"));
    CHECK_FALSE(list->matches("[1]"));
    CHECK(of(R"j("structured_outputs": {"regex": "(a|b)+"})j")->matches("ab"));
    CHECK(of(R"("structured_outputs": {"choice": ["a\"\\", "b\n"]})")->matches("a\"\\"));
    CHECK(of(R"("structured_outputs": {"choice": ["a\"\\", "b\n"]})")->matches("b\n"));
    CHECK(of(R"("structured_outputs": {"json": "{\"type\": \"null\"}"})")->matches("null"));
    CHECK_THAT(message_of([&] {
                   (void)of(R"("response_format": {"type": "json_object"},
                                          "structured_outputs": {"regex": "a"})");
               }),
               contains("/structured_outputs: cannot be used with"));
    CHECK_THAT(message_of([&] { (void)of(R"("response_format": {"type": "json_schema"})"); }), contains("json_schema"));
}

TEST_CASE("embeddings are of one text or several, as numbers or base64") {
    const EmbeddingRequest r =
        embedding_request(R"({"model": "m", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 384})");
    CHECK(r.texts.size() == 2);
    CHECK(r.base64);
    CHECK(r.width == 384);
    CHECK(embedding_request(R"({"model": "m", "input": "a", "user": "u"})").texts.size() == 1);
    const auto refusal = [](const std::string &body) { return message_of([&] { (void)embedding_request(body); }); };
    using Ids = std::vector<std::vector<int32_t>>;
    CHECK(embedding_request(R"({"model": "m", "input": [1, 2]})").ids == Ids{{1, 2}});
    CHECK(embedding_request(R"({"model": "m", "input": [[1, 2], [3]]})").ids == Ids{{1, 2}, {3}});
    CHECK_THAT(refusal(R"({"model": "m", "input": [[1, "a"]]})"), contains("/input/0/1: expected a whole number"));
    CHECK_THAT(refusal(R"({"model": "m", "input": ["a", 1]})"), contains("/input/1: expected a text"));
    CHECK(embedding_request(R"({"model": "m", "input": "a", "truncate": false})").cut == false);
    CHECK(embedding_request(R"({"model": "m", "input": "a", "truncate_prompt_tokens": -1})").cut == true);
    CHECK(embedding_request(R"({"model": "m", "input": "a"})").cut == std::nullopt);
    CHECK_THAT(refusal(R"({"model": "m", "input": []})"), contains("/input: expected at least one text"));
    CHECK_THAT(refusal(R"({"model": "m", "input": "a", "encoding_format": "hex"})"), contains("/encoding_format"));
    CHECK_THAT(refusal(R"({"model": "m", "input": "a", "dims": 3})"), contains("/dims: unknown field"));
}

TEST_CASE("tensors come as lists, flat or nested, or as bytes behind the JSON") {
    const std::string x = R"({"name": "x", "shape": [1, 2], "datatype": "FP32", )";
    const InferRequest flat = infer(R"({"id": "7", "inputs": [)" + x + R"("data": [0.5, -1]}, )" + ids + "]}");
    CHECK(flat.id == "7");
    CHECK(flat.inputs.at("x").f32()[1] == -1);
    CHECK(flat.inputs.at("ids").i32()[0] == 7);
    const InferRequest nested = infer(R"({"inputs": [)" + x + R"("data": [[0.5, -1]]}, )" + ids + "]}");
    CHECK(nested.inputs.at("x").f32()[0] == 0.5F);

    const std::string head = R"({"inputs": [)" + x + R"("parameters": {"binary_data_size": 8}}, )" + ids +
                             R"(], "outputs": [{"name": "y", "parameters": {"binary_data": true}}]})";
    const std::string raw("\0\0\0\x3f\0\0\x80\xbf", 8); // 0.5, -1
    const InferRequest binary = infer(head + raw, std::to_string(head.size()));
    CHECK(binary.inputs.at("x").f32()[0] == 0.5F);
    CHECK(binary.inputs.at("x").f32()[1] == -1);
    REQUIRE(binary.outputs.size() == 1);
    const OutputTypes type{{"y", binary.inputs.at("x").type()}};
    const size_t twice = 2 * binary.inputs.at("x").bytes().size(); // the tensor and its copy in the response
    CHECK_NOTHROW(expect_fair_response(binary, type, twice));
    CHECK_THAT(message_of([&] { expect_fair_response(binary, type, twice - 1); }),
               contains("expected at most 15 B (the server's --max-bodies)"));
    const Response response = infer_response("m", binary, {{"y", binary.inputs.at("x")}});
    const size_t json = std::stoul(response.headers.at("Inference-Header-Content-Length"));
    CHECK(response.body.substr(json) == raw);
    CHECK_THAT(infer_response("m", flat, {{"y", flat.inputs.at("x")}}).body,
               contains(R"("outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[0.5,-1.0]}])"));

    CHECK_THAT(infer_refusal(head + raw + "!", std::to_string(head.size())), contains("belong to no input"));
    CHECK_THAT(infer_refusal(head, std::to_string(head.size())), contains("only 0 bytes are left"));
    CHECK_THAT(infer_refusal(head + raw, "x"), contains("Inference-Header-Content-Length: expected a number"));
    CHECK_THAT(infer_refusal(head + raw, "100000"), contains("Inference-Header-Content-Length"));
}

TEST_CASE("a tensor that the graph cannot take is refused with its place") {
    const auto with_x = [](const std::string &x) { return infer_refusal(R"({"inputs": [)" + x + ", " + ids + "]}"); };
    CHECK_THAT(with_x(R"({"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [1, 2]})"),
               contains("/inputs/0/datatype: expected FP32"));
    CHECK_THAT(with_x(R"({"name": "z", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]})"),
               contains("no input 'z'"));
    CHECK_THAT(with_x(R"({"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1]})"),
               contains("/inputs/0/data: expected 2 values, as the shape says, found 1"));
    CHECK_THAT(with_x(R"({"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, "b"]})"),
               contains("/inputs/0/data/1: expected a number"));
    CHECK_THAT(with_x(R"({"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 1e300]})"),
               contains("FP32 can hold"));
    CHECK_THAT(with_x(R"({"name": "x", "shape": [-1, 2], "datatype": "FP32", "data": []})"),
               contains("/inputs/0/shape/0"));
    CHECK_THAT(with_x(R"({"name": "x", "shape": [4611686018427387904, 4], "datatype": "FP32", "data": []})"),
               contains("/inputs/0/shape: no tensor can have this shape"));
    CHECK_THAT(with_x(R"({"name": "x", "shape": [1000000000, 2], "datatype": "FP32", "data": [1]})"),
               contains("expected 2000000000 values"));
    CHECK_THAT(with_x(R"({"name": "x", "shape": [1, 2], "datatype": "FP32"})"), contains("expected data or"));
    CHECK_THAT(infer_refusal(R"({"inputs": [)" + ids + "]}"), contains("the input 'x' is missing"));
    CHECK_THAT(infer_refusal(R"({"inputs": [)" + ids + ", " + ids + "]}"), contains("given twice"));
    CHECK_THAT(infer_refusal("{}"), contains("'inputs' is missing"));
}

TEST_CASE("sizes that are open are -1 in a graph's metadata") {
    CHECK(
        graph_metadata("m", graph()).in_one_line() ==
        R"({"name":"m","versions":["1"],"platform":"lamina","inputs":[{"name":"x","datatype":"FP32","shape":[-1,2]},)"
        R"({"name":"ids","datatype":"INT32","shape":[-1]}],"outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]}]})");
}
