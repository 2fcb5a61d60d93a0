// Settings that Lamina does not support, or that contradict the weights, cause errors that name them.
#include "catch.hpp"
#include "refusal.hpp"

#include "architectures/config.hpp"
#include "model/safetensors.hpp"

#include <lamina/inspect.hpp>
#include <lamina/lamina.hpp>

#include <algorithm>

using namespace lamina;
using matchers::contains;
namespace fs = std::filesystem;

namespace {

const fs::path known_models = test::architectures / "models";

// The keys that Lamina ignores after config.json was changed.
std::vector<std::string> ignored(const std::string &name, const std::function<void(nlohmann::json &)> &change) {
    const TemporaryFolder folder;
    fs::copy(known_models / name, folder.path(), fs::copy_options::recursive);
    nlohmann::json config = test::json_of(folder.path() / "config.json");
    change(config);
    folder.write("config.json", config.dump());
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    return inspect(Runtime(options), folder.path()).ignored_keys;
}

} // namespace

TEST_CASE("architectures: keys that transformers does not read are accepted, and those of older files") {
    CHECK(refusal("bert", "directionality", "bidi") == "");
    CHECK(refusal("bert", "pruned_heads", nlohmann::json::object()) == "");
    CHECK(refusal("bert", "num_labels", 5) == "");
    CHECK(refusal("llama", "is_llama_config", true) == "");
    CHECK(refusal("llama", "sliding_window", 4) == "");
    CHECK(refusal("mistral", "layer_types", {"sliding_attention", "full_attention"}) == "");
    CHECK(refusal("mistral", "attention_bias", true) == "");
    CHECK(refusal("marian", "normalize_before", true) == "");
    CHECK(refusal("llama_yarn", [](nlohmann::json &c) { c["rope_parameters"]["twist"] = 2; }) == "");
    CHECK(refusal("bert", "position_embedding_type", "absolute") == "");
    CHECK(refusal("bert", "gradient_checkpointing", false) == "");
    CHECK(refusal("llama", "pretraining_tp", 1) == "");
    CHECK(refusal("llama", [](nlohmann::json &config) { // before transformers 5
              config["rope_theta"] = config["rope_parameters"]["rope_theta"];
              config["rope_scaling"] = nullptr;
              config.erase("rope_parameters");
          }) == "");
}

TEST_CASE("architectures: infinity is the greatest number, as Python and transformers write it, but not in strings") {
    const auto found = [](const char *json) { return architectures::with_finite_numbers(json); };
    const std::string greatest = "1.7976931348623157e308";
    CHECK(found("[0.0, Infinity, -Infinity]") == "[0.0, " + greatest + ", -" + greatest + "]");
    CHECK(found(R"([{ "__float__" :
        "Infinity"}, {"__float__":"-Infinity"}])") == "[" + greatest + ", -" + greatest + "]");
    for (const char *same : {R"({"a": "Infinity", "b\"": "Infinity \\"})", R"({"__float__": "NaN"})", R"({"__float__")",
                             R"({"a": {"__float__": "Infinity", "b": 1}})", R"("Infinity)", "", "{"})
        CHECK(found(same) == same);
}

TEST_CASE(
    "architectures: of Qwen3-VL, Qwen3.5 and Gemma 3 the whole says whether words are tied, of Qwen2-VL either part") {
    const auto tied = [](const char *model, const nlohmann::json &whole, const nlohmann::json &part) {
        return refusal(model, [&](nlohmann::json &config) {
            config["tie_word_embeddings"] = whole, config["text_config"]["tie_word_embeddings"] = part;
        });
    };
    for (const char *model : {"qwen3_vl", "qwen2_vl"})
        CHECK(tied(model, false, false).empty());                 // which have an lm_head
    for (const char *model : {"gemma3_whole", "qwen3_5_whole"}) { // which have none
        CHECK(tied(model, true, false).empty());
        CHECK_FALSE(tied(model, false, true).empty());
    }
}

TEST_CASE("architectures: the pairs of channels of a head are divided among axes in Qwen2-VL, whose files say so") {
    const auto refused = [](const nlohmann::json &sections) {
        return refusal("qwen2_5_vl", [&](nlohmann::json &c) { c["rope_scaling"]["mrope_section"] = sections; });
    };
    CHECK(refused({2, 1, 1}).empty());
    CHECK_THAT(refused({2, 2, 1}), contains("expected numbers of pairs of channels, 4 in all, found a list with 3"));
    CHECK(refusal("qwen2_5_vl", "rope_scaling", nullptr).ends_with("the key 'mrope_section' is missing"));
    CHECK_THAT(refusal("qwen3_5",
                       [](nlohmann::json &c) {
                           c["rope_parameters"]["mrope_section"] = {1, 1};
                       }),
               contains("expected three numbers"));
}

TEST_CASE(
    "architectures: a decoder that classifies begins with a token of its vocabulary, and there is none for words") {
    CHECK(refusal("bart_texts", "decoder_start_token_id", 9).empty());
    CHECK_THAT(refusal("bart_texts", "decoder_start_token_id", 53), contains("expected an id below 53, found 53"));
    CHECK(refusal("bart_texts", "architectures", {"BartForQuestionAnswering"})
              .ends_with("supported: conditional generation and sequence classification"));
    CHECK(refusal("mbart", "architectures", {"MBartForSequenceClassification"})
              .ends_with("this task is not supported for this model_type; supported: conditional generation"));
}

TEST_CASE("architectures: keys that change nothing are listed, but not those that every config.json has") {
    const std::vector<std::string> unchanged = ignored("llama", [](nlohmann::json &) {});
    CHECK(std::ranges::find(unchanged, "/hidden_act") == unchanged.end());
    CHECK(std::ranges::find(unchanged, "/attention_dropout") == unchanged.end());
    const std::vector<std::string> changed = ignored("llama_yarn", [](nlohmann::json &c) {
        c["is_llama_config"] = true;
        c["sliding_window"] = 4;
        c["rope_parameters"]["twist"] = 2;
    });
    for (const char *key : {"/is_llama_config", "/sliding_window", "/rope_parameters/twist"})
        CHECK(std::ranges::count(changed, key) == 1);
}

TEST_CASE("architectures: unknown and unsupported settings are named") {
    using matchers::contains;
    for (const std::string method : {"hqq", "aqlm", "mxfp4", "modelopt"})
        CHECK_THAT(refusal("llama", "quantization_config", {{"quant_method", method}, {"bits", 4}}),
                   contains("/quantization_config: the weights are quantized by " + method) && contains("GGUF"));
    CHECK_THAT(refusal("llama", "quantization_config", {{"bits", 4}}), contains("/quantization_config"));
    CHECK_THAT(refusal("bert", "model_type", "moonshine_streaming"),
               contains("'moonshine_streaming' is not supported; supported: ") && !contains("did you mean"));
    CHECK_THAT(refusal("llama", "model_type", "lama"),
               contains("/model_type") && contains("llama") && contains("bert"));
    CHECK_THAT(refusal("llama", "hidden_act", "mish"), contains("/hidden_act") && contains("mish") && contains("silu"));
    CHECK_THAT(refusal("bert", "position_embedding_type", "relative_key"),
               contains("/position_embedding_type") && contains("relative_key") && contains("absolute"));
    CHECK_THAT(refusal("llama_yarn", [](nlohmann::json &c) { c["rope_parameters"]["rope_type"] = "xpos"; }),
               contains("/rope_parameters/rope_type") && contains("xpos"));
    CHECK_THAT(refusal("llama", "is_causal", false), contains("/is_causal") && contains("expected true"));
    CHECK_THAT(refusal("llama", "per_layer_config", {{"0", {{"intermediate_size", 20}}}}),
               contains("/per_layer_config") && contains("expected null"));
    CHECK_THAT(refusal("llama", "rms_norm_eps", nullptr), contains("/rms_norm_eps: null") && contains("default"));
    CHECK_THAT(refusal("llama_linear", "partial_rotary_factor", 0.5),
               contains("/partial_rotary_factor") && contains("only 1 is supported with the rope_type 'linear'"));
    CHECK_THAT(refusal("llama_yarn", [](nlohmann::json &c) { c["rope_parameters"].erase("factor"); }),
               contains("/rope_parameters") && contains("factor"));
    CHECK_THAT(refusal("llama", "num_attention_heads", 0), contains("/num_attention_heads"));
    CHECK_THAT(refusal("llama", "num_hidden_layers", 2'000'000'000),
               contains("/num_hidden_layers") && contains("1000"));
    CHECK_THAT(refusal("t5", "num_decoder_layers", 2'000'000'000), contains("/num_decoder_layers"));
    CHECK_THAT(refusal("qwen2", "layer_types", {"full_attention"}), contains("/layer_types") && contains("found 1"));
    CHECK_THAT(refusal("qwen2", "layer_types", {"full_attention", "chunked"}), contains("chunked"));
    CHECK_THAT(refusal("qwen2", [](nlohmann::json &c) { c["use_sliding_window"] = false; }),
               contains("/layer_types") && contains("\"use_sliding_window\": true"));
    CHECK_THAT(refusal("t5",
                       [](nlohmann::json &c) {
                           c.erase("dense_act_fn");
                           c["feed_forward_proj"] = "gated-mish";
                       }),
               contains("/feed_forward_proj") && contains("mish") && contains("relu"));
    CHECK_THAT(refusal("t5_gated", "dense_act_fn", "mish"), contains("/dense_act_fn") && contains("gelu_new"));
    CHECK_THAT(refusal("t5", "is_encoder_decoder", false), contains("/is_encoder_decoder") && contains("true"));
    CHECK_THAT(refusal("opt", "do_layer_norm_before", false), contains("/do_layer_norm_before") && contains("true"));
    CHECK_THAT(refusal("opt", "word_embed_proj_dim", 20), contains("20 is not supported; expected 36"));
    CHECK_THAT(refusal("whisper", "scale_embedding", true), contains("/scale_embedding") && contains("false"));
}

TEST_CASE("architectures: settings of quantized weights that are not understood are named") {
    using matchers::contains;
    const auto refused = [](const nlohmann::json &how) { return refusal("quant_gptq", "quantization_config", how); };
    const nlohmann::json gptq{{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}};
    const auto with = [](nlohmann::json how, const char *key, const nlohmann::json &value) {
        how[key] = value;
        return how;
    };
    CHECK(refused(gptq).empty());
    CHECK(refused(with(gptq, "dynamic", {{"-:.*down.*", nlohmann::json::object()}})).empty());
    CHECK_THAT(refused(with(gptq, "bits", 5)), contains("/quantization_config/bits: 5 is not supported"));
    CHECK_THAT(refused(with(gptq, "checkpoint_format", "marlin")),
               contains("/checkpoint_format: 'marlin' is not supported; supported: gptq, gptq_v2"));
    CHECK_THAT(refused(with(gptq, "dynamic", {{"+:.*down.*", {{"bits", 8}}}})), contains("settings of their own"));
    CHECK_THAT(refused(with(gptq, "group_size", 0)), contains("/group_size"));
    CHECK_THAT(
        refused(with(gptq, "group_size", 64)),
        contains("tensor 'model.layers.0.mlp.down_proj.g_idx': column 64: expected a group from 0 to 1, found 2"));
    CHECK_THAT(refused(with(gptq, "format", "bitblas")), contains("/format: 'bitblas' is not supported"));
    CHECK_THAT(refused(with(with(gptq, "quant_method", "awq"), "format", "gemv_fast")),
               contains("/format: 'gemv_fast'"));
    CHECK_THAT(refused(with(with(gptq, "quant_method", "awq"), "version", "gemv")),
               contains("/version: 'gemv' is not supported; supported: gemm"));
    CHECK_THAT(refused({{"quant_method", "fp8"}, {"fmt", "e5m2"}}), contains("/fmt: 'e5m2' is not supported"));
    CHECK_THAT(refused({{"quant_method", "compressed-tensors"}, {"format", "nvfp4-pack-quantized"}}),
               contains("/format: 'nvfp4-pack-quantized' is not supported"));
    CHECK_THAT(refused({{"quant_method", "compressed-tensors"}, {"format", "pack-quantized"}}),
               contains("config_groups: is missing"));
    CHECK_THAT(refusal("gpt2", "quantization_config", gptq), contains("its matrices are transposed"));
    // What is there is not what the config says.
    CHECK_THAT(refused({{"quant_method", "fp8"}}),
               contains("there is no tensor 'model.layers.0.self_attn.q_proj.weight'"));
}

TEST_CASE("architectures: quantized modules without a bias may have one of zeros, and no other") {
    const auto refusal_with_bias = [](float value) {
        const TemporaryFolder folder;
        fs::copy(known_models / "quant_awq" / "config.json", folder.path());
        const model::Weights stored = model::open_safetensors(known_models / "quant_awq" / "model.safetensors").weights;
        std::map<std::string, Tensor, std::less<>> tensors;
        for (const auto &[name, weight] : stored.entries()) {
            Tensor &tensor = tensors.emplace(name, Tensor(weight.type)).first->second;
            std::ranges::copy(weight.bytes(), tensor.bytes().begin());
        }
        tensors["model.layers.0.mlp.up_proj.bias"] = Tensor::of({96}, std::vector<float>(96, value));
        model::write_safetensors(folder.path() / "model.safetensors", tensors);
        return message_of([&] { (void)test::session_of(folder.path()); });
    };
    CHECK(refusal_with_bias(0).empty());
    CHECK_THAT(refusal_with_bias(1), matchers::contains("model.layers.0.mlp.up_proj.bias"));
}

TEST_CASE("architectures: what became of quantized weights is said, and the tensors that are as they were are not") {
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    const Runtime runtime(options);
    const auto notes = [&](const char *model) { return inspect(runtime, known_models / model).notes; };
    CHECK(notes("quant_gptq") == std::vector<std::string>{"matrices quantized by gptq are read: 14 as q4_0"});
    CHECK(notes("quant_gptq_experts") == std::vector<std::string>{"matrices quantized by gptq are read: 32 as q5_0"});
    CHECK(notes("quant_bytes").at(0).ends_with("are left as they are"));
    CHECK(notes("llama").empty());
}

TEST_CASE("architectures: mixtures of experts that are not supported, or are not what config.json says, are named") {
    using matchers::contains;
    CHECK_THAT(refusal("olmoe", "clip_qkv", 8.0), contains("/clip_qkv") && contains("not supported"));
    CHECK_THAT(refusal("olmoe", "sliding_window", 4), contains("/sliding_window") && contains("not supported"));
    CHECK_THAT(refusal("mixtral", "num_experts_per_tok", 5),
               contains("/num_experts_per_tok") && contains("at most the 4 experts"));
    CHECK_THAT(refusal("mixtral", "num_experts_per_tok", 0), contains("/num_experts_per_tok"));
    for (const char *name : {"mixtral", "qwen3_moe", "granitemoe"}) // no memory for that
        CHECK_THAT(refusal(name, "num_local_experts", 2'000'000'000), contains("according to config.json"));
    CHECK_THAT(refusal("qwen2_moe", "shared_expert_intermediate_size", 30), contains("shared_expert"));
    for (const char *name : {"qwen3_vl_moe", "qwen3_vl_moe_plain"})
        CHECK_THAT(refusal(name, [](nlohmann::json &c) { c["text_config"]["moe_intermediate_size"] = 11; }),
                   contains("experts.gate_up_proj"));
    CHECK_THAT(refusal("qwen3_moe", "decoder_sparse_step", 0), contains("/decoder_sparse_step"));
    CHECK_THAT(refusal("qwen3_moe", "mlp_only_layers", {"first"}), contains("/mlp_only_layers"));
    CHECK_THAT(refusal("qwen3_moe", "mlp_only_layers", {1}), contains("there is no tensor 'model.layers.1.mlp."));
    CHECK_THAT(refusal("qwen2_moe_plain",
                       [](nlohmann::json &c) {
                           c["use_sliding_window"] = true;
                           c["sliding_window"] = nullptr;
                           c.erase("layer_types");
                       }),
               contains("/sliding_window"));
}

TEST_CASE("architectures: what latent attention and groups of experts cannot be is named") {
    CHECK_THAT(refusal("deepseek_v3", "num_key_value_heads", 2), contains("/num_key_value_heads") && contains("6"));
    CHECK_THAT(refusal("deepseek_v3", "head_dim", 10), contains("/head_dim") && contains("qk_rope_head_dim"));
    CHECK_THAT(refusal("deepseek_v3", "n_group", 3), contains("/n_group"));
    CHECK_THAT(refusal("deepseek_v3", "n_group", 8), contains("/n_group") && contains("two experts"));
    CHECK_THAT(refusal("deepseek_v3", "topk_group", 5), contains("/topk_group") && contains("4 groups"));
    CHECK_THAT(refusal("deepseek_v3", "topk_group", 1), contains("/num_experts_per_tok") && contains("2 experts"));
    CHECK_THAT(refusal("deepseek_v2", "topk_method", "noaux_tc"),
               contains("/topk_method") && contains("group_limited_greedy"));
    CHECK_THAT(refusal("glm4_moe", "n_group", 3), contains("/n_group"));
    CHECK_THAT(refusal("glm4_moe_plain", "use_qk_norm", false), contains("k_norm.weight"));
    CHECK_THAT(refusal("glm4_moe_plain", "first_k_dense_replace", 0), contains("model.layers.0.mlp."));
    CHECK_THAT(refusal("glm4_moe_air", "use_qk_norm", true), contains("q_norm.weight"));
    CHECK_THAT(refusal("glm4_moe_lite", "mlp_layer_types", {"sparse", "dense"}),
               contains("/mlp_layer_types") && contains("found 2"));
    const auto scaled = [](const char *type) {
        return refusal("deepseek_v3", [&](nlohmann::json &config) { config["rope_parameters"]["rope_type"] = type; });
    };
    CHECK_THAT(scaled("linear"), contains("mscale_all_dim") && contains("yarn"));
    CHECK(scaled("default") == "");
}

TEST_CASE("architectures: what layers of Gemma 4 cannot be is named") {
    CHECK_THAT(refusal("gemma4", "num_kv_shared_layers", 3),
               contains("/num_kv_shared_layers") && contains("each kind"));
    CHECK_THAT(refusal("gemma4", "use_bidirectional_attention", "all"), contains("/use_bidirectional_attention"));
    CHECK_THAT(refusal("gemma4", [](nlohmann::json &config) { config["rope_parameters"].erase("full_attention"); }),
               contains("/rope_parameters") && contains("full_attention"));
    const auto heads = [](const char *key, int value) {
        return refusal("gemma4", [&](nlohmann::json &config) { config["per_layer_config"]["1"][key] = value; });
    };
    CHECK_THAT(heads("head_dim", 16), contains("/per_layer_config") && contains("same heads"));
    CHECK_THAT(heads("num_attention_heads", 3), contains("num_attention_heads"));
    CHECK_THAT(refusal("gemma4_experts", "top_k_experts", 7), contains("/top_k_experts") && contains("6 experts"));
}

TEST_CASE("architectures: values have the types that transformers takes, also of keys that change nothing") {
    using matchers::contains;
    CHECK_THAT(refusal("llama", "rms_norm_eps", 1),
               contains("/rms_norm_eps: expected a number with a decimal point, found 1 (transformers 5."));
    CHECK(refusal("llama", "rms_norm_eps", 1.0) == "");
    CHECK_THAT(refusal("llama", "vocab_size", 53.0), contains("/vocab_size: expected an integer, found 53.0"));
    CHECK_THAT(refusal("llama", "attention_dropout", "0"),
               contains("/attention_dropout: expected an integer or a number with a decimal point or null, found '0'"));
    CHECK_THAT(refusal("llama", "tie_word_embeddings", 0), contains("/tie_word_embeddings: expected true or false"));
    CHECK_THAT(refusal("llama", "use_cache", nullptr), contains("/use_cache: null is not a value"));
    CHECK_THAT(
        refusal("qwen2", "layer_types", {"full_attention", 1}),
        contains("/layer_types: expected a list, each entry a string or null, found a list with 2 entries, of which "
                 "/layer_types/1 is 1"));
    CHECK_THAT(refusal("qwen2", "head_dim", nullptr), contains("/head_dim: null is not a value of this key"));
    CHECK_THAT(refusal("t5", "dense_act_fn", nullptr), contains("/dense_act_fn"));
}

TEST_CASE("architectures: a theta that OLMo 3 has beside its two kinds of layers is that of both") {
    const auto with_theta = [](double theta) {
        return refusal("olmo3", [&](nlohmann::json &config) {
            config.erase("rope_parameters");
            config["rope_theta"] = theta;
        });
    };
    CHECK(with_theta(500000.0) == "");
    CHECK_THAT(with_theta(500.0),
               contains("/rope_theta: releases of transformers") && contains("one for each kind of layer"));
}

TEST_CASE("architectures: sizes that no model has cost neither time nor memory") {
    using matchers::contains;
    for (const char *name : {"llama", "gemma3"})
        CHECK_THAT(refusal(name, "head_dim", 2'147'483'646), contains("/head_dim") && contains("at most 65536"));
    CHECK_THAT(refusal("gemma2", "query_pre_attn_scalar", 0),
               contains("/query_pre_attn_scalar: expected a number above 0, found 0"));
    CHECK_THAT(refusal("llama", "rms_norm_eps", 1.5), contains("/rms_norm_eps: expected at most 1, found 1.5"));
}

TEST_CASE("architectures: a config that contradicts the weights is refused") {
    using matchers::contains;
    CHECK_THAT(refusal("llama", "attention_bias", true), contains("q_proj.bias"));
    CHECK_THAT(refusal("qwen3", "attention_bias", false), contains("q_proj.bias"));
    CHECK_THAT(refusal("llama", "num_attention_heads", 9), contains("self_attn"));
    CHECK_THAT(refusal("llama", "num_hidden_layers", 1), contains("model.layers.1"));
    CHECK_THAT(refusal("llama", "num_hidden_layers", 3), contains("model.layers.2"));
    CHECK_THAT(refusal("gpt2", "n_head", 5), contains("/n_head: expected a divisor of n_embd, 36"));
    CHECK_THAT(refusal("bert", "max_position_embeddings", 31), contains("position_embeddings"));
    CHECK_THAT(refusal("t5", "d_kv", 9),
               contains("SelfAttention.q.weight' has the shape (30, 36)") && contains("(27, 36)"));
    CHECK_THAT(refusal("t5", "num_decoder_layers", 1), contains("decoder.block.1"));
    CHECK_THAT(refusal("marian_two", "share_encoder_decoder_embeddings", true),
               contains("embed_tokens.weight' has the shape (47, 36)") && contains("(53, 36)"));
    CHECK_THAT(refusal("whisper", "num_mel_bins", 8), contains("conv1"));
    CHECK_THAT(refusal("whisper", "max_source_positions", 12), contains("embed_positions"));
}

TEST_CASE("architectures: settings that would compute something else are named, and sizes that would need all memory") {
    using matchers::contains;
    CHECK_THAT(refusal("cohere", "use_qk_norm", true), contains("/use_qk_norm"));
    CHECK_THAT(refusal("stablelm", "qk_layernorm", true), contains("/qk_layernorm"));
    CHECK_THAT(refusal("falcon", "alibi", true), contains("/alibi") && contains("expected false"));
    CHECK_THAT(refusal("falcon_new", "parallel_attn", false), contains("/parallel_attn"));
    CHECK_THAT(refusal("phi3", [](nlohmann::json &c) { c["rope_parameters"]["partial_rotary_factor"] = 0.4; }),
               contains("partial_rotary_factor") && contains("pairs"));
    CHECK_THAT(refusal("granite", "residual_multiplier", 0.0), contains("/residual_multiplier") && contains("above 0"));
    CHECK_THAT(refusal("gptj", "rotary_dim", 7), contains("/rotary_dim") && contains("even number"));
    CHECK_THAT(refusal("gpt_neo", "window_size", 0), contains("/window_size"));
    CHECK_THAT(refusal("mpt", [](nlohmann::json &c) { c["attn_config"]["alibi"] = false; }),
               contains("/attn_config/alibi") && contains("expected true"));
    CHECK_THAT(refusal("gpt_neo",
                       [](nlohmann::json &c) {
                           c.erase("attention_layers");
                           c["attention_types"] = nlohmann::json::parse(R"([[["global", "local"], 1000]])");
                       }),
               contains("/attention_types"));
    CHECK_THAT(refusal("gpt_neo", [](nlohmann::json &c) { c["attention_layers"].push_back("local"); }),
               contains("/attention_layers") && contains("found more"));
    CHECK_THAT(refusal("m2m_100", "max_position_embeddings", 2000000000), contains("/max_position_embeddings"));
    CHECK_THAT(refusal("bloom", [](nlohmann::json &c) { c["hidden_size"] = c["n_head"] = 2000000000; }),
               contains("word_embeddings.weight") && contains("has the shape"));
}

TEST_CASE("architectures: feed-forward layers and heads that JinaBERT does not have are named") {
    CHECK_THAT(refusal("jina_bert", "feed_forward_type", "original"),
               contains("/feed_forward_type: 'original' is not supported; supported: geglu and reglu"));
    CHECK_THAT(refusal("jina_bert", "num_attention_heads", 5),
               contains("/num_attention_heads: expected a divisor of the width, 36"));
    CHECK_THAT(refusal("jina_bert", "is_decoder", true), contains("/is_decoder"));
    CHECK_THAT(refusal("jina_bert", "position_embedding_type", "absolute"), contains("position_embeddings.weight"));
    CHECK_THAT(refusal("bert", "position_embedding_type", "alibi"), contains("feed_forward_type: 'original'"));
}

TEST_CASE("architectures: sinusoids that give padding no position need another token at the start") {
    CHECK_THAT(refusal("m2m_100", "pad_token_id", 2), contains("/decoder_start_token_id") && contains("padding, 2"));
    CHECK(refusal("mbart", "pad_token_id", 2).empty()); // whose positions are learned
}

TEST_CASE("architectures: distances that DeBERTa cannot have rows for are named") {
    CHECK_THAT(refusal("deberta", "position_buckets", 1), contains("/position_buckets") && contains("at least 2"));
    CHECK_THAT(refusal("deberta", [](nlohmann::json &c) { c["position_buckets"] = 16; }),
               contains("/position_buckets") && contains("distances up to 9"));
    CHECK_THAT(refusal("deberta", "position_buckets", 8), contains("'deberta.encoder.rel_embeddings.weight'"));
    CHECK_THAT(refusal("deberta", "pooler_hidden_size", 35), contains("/pooler_hidden_size"));
    CHECK_THAT(refusal("deberta", "num_attention_heads", 5), contains("/num_attention_heads"));
    CHECK_THAT(refusal("deberta_first", "talking_head", true), contains("/talking_head"));
    CHECK_THAT(refusal("deberta_masked", "conv_kernel_size", 4), contains("/conv_kernel_size") && contains("odd"));
    CHECK_THAT(refusal("deberta_masked", "conv_groups", 5), contains("/conv_groups"));
}
