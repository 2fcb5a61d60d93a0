// Adapters (LoRA) in the formats of PEFT and GGUF, compared with the models that PEFT merges. make_adapters.py wrote
// adapters/.
#include "catch.hpp"
#include "folders.hpp"

#include "comparison/record.hpp"
#include "model/safetensors.hpp"

#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>

#include <algorithm>
#include <array>
#include <cmath>

using namespace lamina;
using matchers::contains;
namespace fs = std::filesystem;

namespace {

const fs::path of_adapters = test::architectures / "adapters", of_models = test::architectures / "models";

struct Pair {
    const char *adapter, *model;
};
constexpr std::array pairs{Pair{"llama", "llama"},
                           Pair{"qwen2_patterns", "qwen2_full"},
                           Pair{"gpt2", "gpt2"},
                           Pair{"bert_texts", "bert_texts"},
                           Pair{"gguf_llama", "gguf_llama"},
                           Pair{"llama_rank_1", "llama"},
                           Pair{"gguf_llama_rank_1", "gguf_llama"},
                           Pair{"tied_head", "llama_tied_biased"},
                           Pair{"tied_table", "llama_tied_biased"},
                           Pair{"tied_both", "llama_tied_biased"}};

fs::path file_in(const fs::path &folder, const char *gguf) {
    return fs::exists(folder / gguf) ? folder / gguf : folder;
}
Adapter adapter_of(const char *name, double scale = 1) { return {file_in(of_adapters / name, "adapter.gguf"), scale}; }
Model changed(const char *name, const std::vector<Adapter> &adapters) {
    return test::runtime().load(file_in(of_models / name, "model.gguf"), {.adapters = adapters});
}

Session on_cpu(const Model &model) { return test::runtime().session(model, test::runtime().device("cpu")); }

// The largest difference from what the record of an adapter says, relative to the largest value.
double difference_from(const char *recorded, Session session) {
    double largest = 0, worst = 0;
    comparison::Record record = comparison::Record::read(of_adapters / recorded / "golden.safetensors");
    for (const auto &[graph, inputs, results] : record.graphs) {
        const TensorMap outputs = session.run(graph, inputs);
        for (const auto &[name, expected] : results)
            for (size_t i = 0; i < expected.f32().size(); ++i) {
                const double found = outputs.at(name).f32()[i], wanted = expected.f32()[i];
                largest = std::max(largest, std::abs(wanted));
                worst = std::isfinite(found) ? std::max(worst, std::abs(found - wanted)) : INFINITY;
            }
    }
    REQUIRE(largest > 0);
    return worst / largest;
}

double difference_from(const char *recorded, const Model &model) { return difference_from(recorded, on_cpu(model)); }

std::string refusal_of(const char *model, const fs::path &adapter) {
    return message_of([&] { (void)changed(model, {{adapter}}); });
}

// An adapter of models/llama after a change of its config.
std::string refusal_with(const char *key, const nlohmann::json &value) {
    const TemporaryFolder folder;
    fs::copy(of_adapters / "llama", folder.path(), fs::copy_options::recursive);
    nlohmann::json config = test::json_of(folder.path() / "adapter_config.json");
    config[key] = value;
    folder.write("adapter_config.json", config.dump());
    return refusal_of("llama", folder.path());
}

// One of models/llama with these tensors.
std::string refusal_of_tensors(const std::map<std::string, Tensor, std::less<>> &tensors) {
    const TemporaryFolder folder;
    fs::copy(of_adapters / "llama" / "adapter_config.json", folder.path());
    model::write_safetensors(folder.path() / "adapter_model.safetensors", tensors);
    return refusal_of("llama", folder.path());
}

} // namespace

TEST_CASE("adapters: beside a model, whose weights they share, they compute the same as merged") {
    for (const auto &[adapter, model] : pairs) {
        INFO(adapter);
        Session base = on_cpu(changed(model, {})), other = base.with_adapters({adapter_of(adapter, 0)});
        Session beside = base.with_adapters({adapter_of(adapter)});
        CHECK(difference_from(adapter, beside) < 1e-4);
        CHECK(difference_from(adapter, other.with_adapters({adapter_of(adapter)})) < 1e-4); // which then is gone
        CHECK(difference_from(adapter, base) > 1e-2);                                       // which stays as it was
        CHECK(difference_from(adapter, beside) < 1e-4);
    }
}

TEST_CASE("adapters: models compute what transformers computes when PEFT has merged them") {
    for (const auto &[adapter, model] : pairs) {
        INFO(adapter);
        CHECK(difference_from(adapter, changed(model, {adapter_of(adapter)})) < 1e-4);
        CHECK(difference_from(adapter, changed(model, {})) > 1e-2);
    }
}

TEST_CASE("adapters: their strength is a factor, and several are added") {
    CHECK(difference_from("llama", changed("llama", {adapter_of("llama", 0.25), adapter_of("llama", 0.75)})) < 1e-4);
    CHECK(difference_from("llama", changed("llama", {adapter_of("llama", 2), adapter_of("llama", -1)})) < 1e-4);
    CHECK(difference_from("llama", changed("llama", {adapter_of("llama", 0.5)})) > 1e-3);
}

TEST_CASE("adapters: the model says what they change") {
    const std::vector<std::string> notes = inspect(changed("llama", {adapter_of("llama")})).notes;
    REQUIRE(notes.size() == 1);
    CHECK_THAT(notes[0], contains("1 adapter changes 14 matrices, which are f32 and take "));
    CHECK_THAT(inspect(changed("bert_texts", {adapter_of("bert_texts")})).notes.at(0),
               contains(", and replace 2 tensors"));
    CHECK(inspect(changed("llama", {adapter_of("llama")}))
              .weights.at("model.layers.0.self_attn.q_proj.weight")
              .type.dtype == DType::f32);
}

TEST_CASE("adapters: a converted model has their changes") {
    const TemporaryFolder folder;
    const Conversion made = convert(test::runtime(), of_models / "llama", {.adapters = {adapter_of("llama")}});
    made.model.save(folder.path() / "merged");
    const Model merged = test::runtime().load(folder.path() / "merged");
    CHECK(difference_from("llama", merged) < 1e-4);
    CHECK_THAT(
        message_of([&] { (void)test::runtime().load(folder.path() / "merged", {.adapters = {adapter_of("llama")}}); }),
        contains("give the one that this folder was made from"));
}

TEST_CASE("adapters: one that does not fit is refused with what does not") {
    CHECK_THAT(refusal_of("llama_texts", of_adapters / "gpt2"),
               contains("h.0.attn.c_attn.weight', and the model has no such tensor") &&
                   contains("is it for another model? (it was made for gpt2)"));
    CHECK_THAT(refusal_of("llama_yarn", of_adapters / "llama"),
               contains("has the shape (") && contains("the model's tensor ("));
    CHECK_THAT(refusal_of("gguf_llama", of_adapters / "llama"), contains("convert_lora_to_gguf.py"));
    CHECK_THAT(refusal_of("llama", of_adapters / "gguf_llama" / "adapter.gguf"),
               contains("a file changes the model of a GGUF"));
    CHECK_THAT(refusal_of("gguf_qwen2", of_adapters / "gguf_llama" / "adapter.gguf"),
               contains("of the architecture 'llama', and this one is of 'qwen2'"));
    CHECK_THAT(refusal_of("gguf_llama", of_models / "gguf_llama" / "model.gguf"), contains("not an adapter"));
    CHECK_THAT(message_of([] { (void)test::runtime().load(of_adapters / "gguf_llama" / "adapter.gguf"); }),
               contains("an adapter, which changes another model: give that model, and --lora"));
}

TEST_CASE("adapters: settings that would change numbers are refused by name") {
    CHECK(refusal_with("some_new_key", nullptr).empty());
    CHECK(refusal_with("lora_dropout", 0.5).empty());
    CHECK_THAT(refusal_with("use_dora", true),
               contains("/use_dora: is not supported (true)") && contains("merge_and_unload()"));
    CHECK_THAT(refusal_with("some_new_key", 3), contains("/some_new_key: is not supported"));
    CHECK_THAT(refusal_with("peft_type", "LOHA"), contains("'LOHA' is not supported; expected LORA"));
    CHECK_THAT(refusal_with("init_lora_weights", "pissa_niter_4"), contains("the model itself was changed"));
    CHECK_THAT(refusal_with("alpha_pattern", {{"layers\\.[01].*", 3}}), contains("patterns are not supported"));
}

TEST_CASE("adapters: tensors come in pairs of the same rank") {
    const std::string module = "base_model.model.model.layers.0.self_attn.q_proj.";
    const Tensor a({DType::f32, {2, 36}}), b({DType::f32, {36, 2}});
    CHECK(refusal_of_tensors({{module + "lora_A.weight", a}, {module + "lora_B.weight", b}}).empty());
    CHECK_THAT(refusal_of_tensors({{module + "lora_A.weight", a}}), contains("q_proj.lora_B.weight"));
    CHECK_THAT(refusal_of_tensors({{module + "lora_B.weight", b}}), contains("q_proj.lora_A.weight"));
    CHECK_THAT(
        refusal_of_tensors({{module + "lora_A.weight", Tensor({DType::f32, {3, 36}})}, {module + "lora_B.weight", b}}),
        contains("the ranks of its change") && contains("differ: 2 and 3"));
    CHECK_THAT(
        refusal_of_tensors({{module + "lora_A.weight", Tensor({DType::f32, {36}})}, {module + "lora_B.weight", b}}),
        contains("is not one of a matrix"));
    CHECK_THAT(refusal_of_tensors({{module + "lora_magnitude_vector.weight", a}}),
               contains("a kind of adapter that is not supported"));
    CHECK_THAT(
        refusal_of_tensors({{module + "lora_A.weight", Tensor({DType::q8_0, {2, 32}})}, {module + "lora_B.weight", b}}),
        contains("expected f32, f16 or bf16") || contains("has the shape"));
    CHECK_THAT(refusal_of_tensors({}), contains("it changes nothing"));
}
