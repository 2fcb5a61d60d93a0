// Settings of single families, in folders and GGUF files, that do not fit or are not supported are named.
#include "catch.hpp"
#include "changed_gguf.hpp"
#include "refusal.hpp"
#include "with_tokenizer.hpp"

#include "model/gguf.hpp"

#include <lamina/convert.hpp>
#include <lamina/inspect.hpp>
#include <lamina/proof.hpp>

#include <algorithm>
#include <set>

using namespace lamina;
using matchers::contains;
using test::runtime;
using File = test::ChangedGguf;

TEST_CASE("OLMo and MPT: limits of queries, keys and values, and slopes") {
    CHECK(refusal("olmo_clipped", "clip_qkv", nullptr).empty());
    CHECK_THAT(refusal("olmo_clipped", "clip_qkv", -1.0), contains("/clip_qkv") && contains("0.001 to 1000000"));
    const auto attention = [](const char *key, const nlohmann::json &value) {
        return refusal("mpt_clipped", "attn_config", {{key, value}});
    };
    CHECK(attention("clip_qkv", 0.0).empty()); // none
    CHECK_THAT(attention("clip_qkv", 6), contains("/attn_config/clip_qkv") && contains("decimal point"));
    CHECK_THAT(attention("clip_qkv", -1.0), contains("/attn_config/clip_qkv") && contains("0.001 to 1000000"));
    CHECK_THAT(attention("alibi_bias_max", 16), contains("/attn_config/alibi_bias_max") && contains("expected 8"));
}

TEST_CASE("ERNIE 4.5 with experts: which layers have them, and how their weights are divided") {
    CHECK_THAT(refusal("ernie4_5_moe", "moe_norm_min", 0.5), contains("/moe_norm_min") && contains("1e-12"));
    CHECK_THAT(refusal("ernie4_5_moe", "moe_layer_interval", 0), contains("/moe_layer_interval"));
    CHECK_THAT(refusal("ernie4_5_moe", "moe_layer_end_index", 1), contains("'model.layers.2.mlp.up_proj.weight'"));
    CHECK_THAT(refusal("ernie4_5_moe", "moe_k", 7), contains("/moe_k") && contains("at most the 6 experts"));
    CHECK_THAT(refusal("ernie4_5_moe", "moe_num_shared_experts", 2147483647), contains("/moe_num_shared_experts"));
}

TEST_CASE("Falcon-H1: factors beside biases, and sizes") {
    CHECK_THAT(refusal("falcon_h1_biased", "ssm_out_multiplier", 0.5),
               contains("/projectors_bias") && contains("ssm_out_multiplier"));
    CHECK_THAT(refusal("falcon_h1_biased", "ssm_in_multiplier", 0.5),
               contains("/mamba_proj_bias") && contains("ssm_in_multiplier"));
    CHECK_THAT(refusal("falcon_h1_biased", "mlp_multipliers", {1.0, 0.5}),
               contains("/mlp_bias") && contains("mlp_multipliers"));
    CHECK_THAT(refusal("falcon_h1_biased", "attention_out_multiplier", 0.5),
               contains("/attention_bias") && contains("attention_out_multiplier"));
    CHECK(refusal("falcon_h1_biased", "mlp_multipliers", {0.5, 1.0}).empty());
    CHECK_THAT(refusal("falcon_h1", "mlp_multipliers", {0.5}), contains("/mlp_multipliers") && contains("2 numbers"));
    CHECK_THAT(refusal("falcon_h1", "ssm_multipliers", {1.0, 1.0, 1.0, 1.0, -1.0}), contains("/ssm_multipliers"));
    CHECK_THAT(refusal("falcon_h1", "key_multiplier", -1.0), contains("/key_multiplier"));
    CHECK_THAT(refusal("falcon_h1", "mamba_d_head", 9), contains("/mamba_n_heads") && contains("48 channels"));
    CHECK_THAT(refusal("falcon_h1", "layer_types", {"hybrid", "hybrid"}), contains("leave it out"));
}

TEST_CASE("LayoutLMv3: sizes of what says where words stand, and texts alone") {
    CHECK_THAT(refusal("layoutlmv3", "text_embed", false), contains("/text_embed") && contains("true"));
    CHECK_THAT(refusal("layoutlmv3", "num_attention_heads", 5), contains("/num_attention_heads"));
    CHECK_THAT(refusal("layoutlmv3", "coordinate_size", 6), contains("/coordinate_size") && contains("36"));
    CHECK_THAT(refusal("layoutlmv3", "max_2d_position_embeddings", 1025), contains("at most 1024"));
    CHECK_THAT(refusal("layoutlmv3", "max_rel_pos", 3), contains("max_distance"));
    CHECK_THAT(refusal("layoutlmv3", "rel_2d_pos_bins", 62), contains("rel_pos_x_bias"));
    CHECK_THAT(refusal("layoutlmv3", "patch_size", {4, 4}), contains("/patch_size"));
    CHECK(refusal("layoutlmv3_words", "input_size", 13).empty()); // it sees no image
    CHECK_THAT(refusal("layoutlmv3_many_labels", [](nlohmann::json &c) { c.erase("architectures"); }),
               contains("architectures: is missing") && contains("same weights"));
    const WithTokenizer page("layoutlmv3_tokens");
    CHECK_FALSE(inspect(runtime().load(page.path())).reading);
    Session session = page.session();
    CHECK_THROWS_WITH(session.generate({"w3"}),
                      contains("does not generate text: it reads pages, but its files do not say how"));
    CHECK_FALSE(inspect(runtime().load(page.path())).pages);
}

TEST_CASE("Longformer: windows are even, one for each layer, and texts can be padded to all of them") {
    CHECK_THAT(refusal("longformer", "attention_window", 7), contains("/attention_window") && contains("even"));
    CHECK_THAT(refusal("longformer", "attention_window", 2), contains("/attention_window"));
    CHECK_THAT(refusal("longformer", "attention_window", {8}), contains("expected 2 entries") && contains("found 1"));
    CHECK_THAT(refusal("longformer", "attention_window", {6, 8}), contains("divide the largest, 8") && contains("6"));
    CHECK(refusal("longformer", "attention_window", 8).empty());
    CHECK(refusal("longformer", "sep_token_id", nullptr).empty()); // it has no questions
    CHECK_THAT(refusal("longformer_answers", "sep_token_id", nullptr),
               contains("/sep_token_id") && contains("question"));
    CHECK_THAT(refusal("longformer", "num_attention_heads", 5), contains("/num_attention_heads") && contains("36"));
}

TEST_CASE("A model of multiple choice is refused by name, though its weights could be those of classes of tokens") {
    for (const auto &[model, name] :
         {std::pair{"longformer_tokens", "LongformerForMultipleChoice"}, {"bert", "BertForMultipleChoice"}})
        CHECK_THAT(refusal(model, "architectures", {name}), contains("/architectures") && contains(name));
}

TEST_CASE("Mamba: sizes, and what transformers makes of its weights") {
    CHECK_THAT(refusal("mamba", "rescale_prenorm_residual", true), contains("/rescale_prenorm_residual"));
    CHECK_THAT(refusal("mamba", "intermediate_size", nullptr), contains("/intermediate_size") && contains("null"));
    CHECK_THAT(refusal("mamba", "time_step_rank", 4), contains("'backbone.layers.0.mixer.x_proj.weight'"));
    CHECK_THAT(refusal("mamba", "state_size", 2147483647), contains("/state_size"));
    CHECK_THAT(refusal("mamba", "layer_types", {"mamba", "mamba"}), contains("leave it out"));
    CHECK(File("gguf_mamba_plain").with("mamba.ssm.dt_b_c_rms", false).empty());
    CHECK_THAT(File("gguf_mamba_plain").with("mamba.ssm.time_step_rank", uint32_t{3}),
               contains("'blk.0.ssm_x.weight'"));
}

TEST_CASE("RWKV-7: sizes of heads and values, and what its layers may be") {
    CHECK_THAT(refusal("rwkv7", "head_dim", 15), contains("/head_dim") && contains("divisor of hidden_size, 40"));
    CHECK_THAT(refusal("rwkv7", "head_dim", nullptr), contains("/num_heads"));
    CHECK_THAT(refusal("rwkv7_unbiased", "num_heads", 0), contains("/num_heads"));
    CHECK_THAT(refusal("rwkv7_unbiased", "num_heads", 5), contains("/num_heads") && contains("36, found 5"));
    CHECK_THAT(refusal("rwkv7", "value_dim", {40, 80, 40}), contains("/value_dim") && contains("40, found 80"));
    CHECK_THAT(refusal("rwkv7", "attn", {{"layers", {1}}}), contains("/attn") && contains("expected null"));
    CHECK_THAT(refusal("rwkv7", "norm_first", false), contains("/norm_first"));
    CHECK_THAT(refusal("rwkv7", "intermediate_size", nullptr), contains("'model.layers.0.ffn.key.weight'"));
    CHECK_THAT(refusal("rwkv7_older", "hidden_ratio", -1.0), contains("/hidden_ratio"));
    CHECK(refusal("rwkv7", "a_low_rank_dim", 64).empty()); // the weights say it
    const auto settings_of_ends = [](const char *tokenizer) {
        const TemporaryFolder folder;
        namespace fs = std::filesystem;
        fs::copy(test::architectures / "models" / "rwkv7", folder.path());
        std::string list;
        for (int i = 1; i < 50; ++i)
            list += std::to_string(i) + " '" + std::string(1, static_cast<char>('@' + i % 26)) +
                    std::string(static_cast<size_t>(i / 26), 'x') + "' " + std::to_string(1 + i / 26) + "\n";
        (void)folder.write("rwkv_vocab_v20230424.txt", list + "50 '\\n\\n' 2\n");
        (void)folder.write("tokenizer_config.json", tokenizer);
        nlohmann::json config = test::json_of(folder.path() / "config.json");
        config["eos_token_id"] = 2;
        (void)folder.write("config.json", config.dump());
        return nlohmann::json::parse(convert(runtime(), folder.path()).model.json);
    };
    const nlohmann::json talks = settings_of_ends(R"({"eos_token": "\n\n"})");
    CHECK(talks["tokens"]["end"] == nlohmann::json{2, 0, 50});
    CHECK(settings_of_ends("{}")["tokens"]["end"] == nlohmann::json{2, 0});
    CHECK(talks["generation"]["max_length"] > 64); // "max_position_embeddings" says nothing
    CHECK_THAT(File("gguf_rwkv7_plain").with("rwkv7.wkv.head_size", uint32_t{48}), contains("'rwkv7.wkv.head_size'"));
}

TEST_CASE("Falcon in GGUF: the order of queries, keys and values is the one that llama.cpp takes") {
    const File file("gguf_falcon_plain");
    constexpr size_t length = sizeof(uint64_t); // before the characters
    CHECK(file.with("falcon.tensor_data_layout", 'j', length).empty());
    CHECK_THAT(file.with("falcon.tensor_data_layout", 'J', length),
               contains("'falcon.tensor_data_layout'") && contains("expected 'jploski'"));
    CHECK_THAT(file.with("falcon.attention.head_count_kv", uint32_t{4}), contains("'falcon.attention.head_count_kv'"));
    CHECK_THAT(file.without("falcon.attention.head_count_kv"),
               contains("the metadata lack the key 'falcon.attention.head_count_kv'"));
    CHECK_THAT(File("gguf_falcon_shared").without("falcon.rope.freq_base"),
               contains("model.gguf: the metadata lack the key 'falcon.rope.freq_base'"));
    CHECK_THAT(file.with("falcon.feed_forward_length", uint32_t{44}), contains("'blk.0.ffn_up.weight'"));
}

TEST_CASE("MPT in GGUF: slopes and limits of queries, keys and values") {
    const File file("gguf_mpt_clipped");
    CHECK_THAT(file.with("mpt.attention.max_alibi_bias", 0.0F),
               contains("'mpt.attention.max_alibi_bias'") && contains("above 0"));
    CHECK_THAT(file.without("mpt.attention.max_alibi_bias"), contains("mpt.attention.max_alibi_bias"));
    CHECK(file.with("mpt.attention.clamp_kqv", 0.0F).empty()); // none
    CHECK_THAT(file.with("mpt.attention.clamp_kqv", -1.0F),
               contains("'mpt.attention.clamp_kqv'") && contains("from 0.001 to 1000000"));
    CHECK_THAT(File("gguf_olmo_clipped").with("olmo.attention.clamp_kqv", -1.0F),
               contains("'olmo.attention.clamp_kqv'") && contains("from 0.001 to 1000000"));
}

TEST_CASE("ERNIE 4.5 in GGUF: which layers have experts") {
    const File file("gguf_ernie4_5_moe_plain");
    const std::string step = "ernie4_5-moe.interleave_moe_layer_step";
    CHECK_THAT(file.with(step, uint32_t{0}), contains("'" + step + "'"));
    CHECK_THAT(file.with(step, uint32_t{1}), contains("'blk.2.exp_probs_b.bias'"));
    CHECK_THAT(file.with("ernie4_5-moe.leading_dense_block_count", uint32_t{4}), contains("'blk.3.ffn_up.weight'"));
    CHECK_THAT(file.with("ernie4_5-moe.expert_shared_feed_forward_length", uint32_t{21}),
               contains("'blk.3.ffn_up_shexp.weight'"));
}

TEST_CASE("Layers of GGUF files that predict tokens ahead are left out") {
    const auto [name, architecture] =
        GENERATE(std::pair("gguf_exaone4_full", "exaone4"), std::pair("gguf_glm4", "glm4"),
                 std::pair("gguf_nemotron_h_moe_plain", "nemotron_h_moe"));
    INFO(name);
    std::string bytes = test::bytes_of(test::architectures / "models" / name / "model.gguf");
    constexpr uint32_t u32 = 4;
    test::add_key(bytes, std::string(architecture) + ".nextn_predict_layers", u32, test::number_in_gguf(uint32_t{1}));
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "model.gguf";
    std::ofstream(file, std::ios::binary) << bytes;
    const int64_t last = model::open_gguf(file).metadata.at(std::string(architecture) + ".block_count").integer() - 1;
    REQUIRE(last > 0);
    const ModelContents contents = inspect(runtime().load(file));
    const auto has = [&](int64_t layer) {
        return std::ranges::any_of(contents.graphs.at("decode").layers, [&](const ModelLayer &each) {
            return each.name.starts_with("model.layers." + std::to_string(layer) + ".");
        });
    };
    CHECK(has(last - 1));
    CHECK_FALSE(has(last));
}

// As llama-quantize does.
TEST_CASE("GGUF files that ggml wrote lack leading sizes of 1, and are read nevertheless") {
    std::set<std::string> changed;
    for (const auto &entry : std::filesystem::directory_iterator(test::architectures / "models")) {
        const std::string name = entry.path().filename().string();
        const std::filesystem::path original = entry.path() / "model.gguf";
        if (!std::filesystem::exists(original) || std::filesystem::exists(entry.path() / "mmproj.gguf")) continue;
        INFO(name);
        std::map<std::string, Shape> shapes;
        const model::Gguf stored = model::open_gguf(original);
        for (const auto &[tensor, weight] : stored.weights.entries()) shapes[tensor] = weight.type.shape;
        std::string bytes = test::bytes_of(original);
        if (test::leave_out_ones(bytes, shapes) == 0) continue;
        changed.insert(name);
        const TemporaryFolder folder;
        std::ofstream(folder.path() / "model.gguf", std::ios::binary) << bytes;
        CHECK(compare_with_record(runtime(), runtime().load(folder.path() / "model.gguf"), runtime().device("cpu"),
                                  entry.path() / "golden.safetensors")
                  .agrees());
    }
    CHECK(changed == std::set<std::string>{"gguf_ernie4_5_moe_plain", "gguf_granite_hybrid_dense_plain",
                                           "gguf_qwen2_moe_plain", "gguf_qwen2_moe_plain_fused",
                                           "gguf_qwen3_5_moe_plain", "gguf_qwen3_5_moe_plain_fused",
                                           "gguf_qwen3_next_plain", "gguf_roberta", "gguf_xlm_roberta_labels",
                                           "gguf_xlm_roberta_plain", "gguf_xlm_roberta_ranker"});
}

TEST_CASE("A projector of Pixtral may state the base of positions that its tower has, and no other") {
    const TemporaryFolder folder;
    const std::filesystem::path pair = test::architectures / "models" / "gguf_mistral3_sees",
                                projector = folder.path() / "mmproj.gguf";
    const auto refusal = [&](float base) {
        std::string bytes = test::bytes_of(pair / "mmproj.gguf");
        constexpr uint32_t f32 = 6;
        test::add_key(bytes, "clip.rope.freq_base", f32, test::number_in_gguf(base));
        std::ofstream(projector, std::ios::binary) << bytes;
        return message_of([&] { (void)runtime().load(pair / "model.gguf", {.adapters = {}, .mmproj = projector}); });
    };
    CHECK(refusal(10000).empty());
    CHECK_THAT(refusal(500), contains("'clip.rope.freq_base'") && contains("expected 10000"));
}
