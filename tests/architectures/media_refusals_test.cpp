// Settings of models for images and audio that Lamina does not support.
#include "refusal.hpp"

using namespace lamina;
using matchers::contains;

TEST_CASE("architectures: images, patches and heads that are not supported are named") {
    using matchers::contains;
    CHECK_THAT(refusal("vit", "image_size", {3, 20}),
               contains("/image_size") && contains("3 x 20 pixels have no whole patch of 4"));
    CHECK_THAT(refusal("vit", "patch_size", {4, 5}), contains("/patch_size") && contains("not square"));
    CHECK_THAT(refusal("vit", "num_channels", 1), contains("/num_channels") && contains("expected 3"));
    CHECK_THAT(refusal("vit", "image_size", 0), contains("/image_size"));
    CHECK_THAT(refusal("vit", "image_size", "large"), contains("/image_size"));
    CHECK_THAT(refusal("vit", "architectures", {"ViTForMaskedLM"}),
               contains("/architectures") && contains("this head is not supported"));
    CHECK_THAT(refusal("clip", "architectures", {"CLIPForImageClassification"}), contains("supported: CLIPModel"));
    CHECK_THAT(refusal("siglip", "architectures", {"SiglipForMaskedLM"}), contains("supported: SiglipModel and"));
    CHECK_THAT(refusal("siglip", [](nlohmann::json &c) { c["text_config"]["projection_size"] = 36; }),
               contains("/text_config/projection_size") && contains("expected 40, the channels of images' vectors"));
    CHECK_THAT(refusal("siglip", [](nlohmann::json &c) { c["vision_config"]["vision_use_head"] = false; }),
               contains("vision_use_head"));
    CHECK_THAT(refusal("llava", "vision_feature_layer", -9), contains("/vision_feature_layer: expected -4 to 3"));
    CHECK_THAT(refusal("llava", "vision_feature_layer", nlohmann::json::array()), contains("at least one layer"));
    CHECK_THAT(refusal("llava", "vision_feature_select_strategy", "some"), contains("expected default or full"));
    CHECK_THAT(refusal("llava", [](nlohmann::json &c) { c["vision_config"]["model_type"] = "dinov2"; }),
               contains("/vision_config/model_type") &&
                   contains("supported: clip_vision_model and siglip_vision_model"));
    CHECK_THAT(refusal("llava", [](nlohmann::json &c) { c["text_config"]["model_type"] = "llava"; }),
               contains("/text_config/model_type") && contains("a model for texts alone"));
    CHECK_THAT(refusal("llava", [](nlohmann::json &c) { c.erase("vision_config"); }),
               contains("vision_config: is missing"));
    for (const int tokens : {8, 16}) // no square, and of a number that does not divide the patches of a side
        CHECK_THAT(refusal("gemma3_sees", "mm_tokens_per_image", tokens),
                   contains("/mm_tokens_per_image") && contains("divides the 6 x 6 patches of an image"));
    for (const int factor : {3, 8})
        CHECK_THAT(refusal("idefics3_sees", "scale_factor", factor),
                   contains("/scale_factor") && contains("divides the 4 x 4 patches of an image"));
    CHECK_THAT(refusal("gemma3_sees", [](nlohmann::json &c) { c.erase("vision_config"); }),
               contains("vision_config: is missing"));
    CHECK_THAT(refusal("dinov2_gated", "image_size", {8, 12}), contains("/image_size") && contains("not square"));
    CHECK_THAT(refusal("dinov2", "image_size", 16), contains("'dinov2.embeddings.position_embeddings'"));
    CHECK_THAT(refusal("dinov2_gated", [](nlohmann::json &c) { c["image_size"] = 8192, c["patch_size"] = 4; }),
               contains("/patch_size") && contains("4194304 patches; expected at most 65536"));
}

TEST_CASE("architectures: settings of models for audio that are not supported are refused") {
    for (const char *name : {"wav2vec2", "hubert"}) {
        INFO(name);
        CHECK(refusal(name, "add_adapter", false).empty());
        CHECK_THAT(refusal(name, "add_adapter", true), contains("/add_adapter") && contains("expected false"));
        CHECK_THAT(refusal(name, "adapter_attn_dim", 16), contains("/adapter_attn_dim") && contains("expected null"));
        CHECK_THAT(refusal(name, "feat_extract_norm", "batch"),
                   contains("/feat_extract_norm") && contains("group and layer"));
        CHECK_THAT(refusal(name, "conv_kernel", {5, 3}), contains("/conv_kernel") && contains("expected 3 numbers"));
        CHECK_THAT(refusal(name, "conv_stride", {3, 2, 0}), contains("/conv_stride/2"));
        CHECK_THAT(refusal(name, "conv_stride", {65536, 65536, 2}),
                   contains("/conv_stride") && contains("longer than"));
        CHECK_THAT(refusal(name, "num_feat_extract_layers", 2), contains("/num_feat_extract_layers"));
        CHECK_THAT(refusal(name, "num_conv_pos_embedding_groups", 5), contains("/num_conv_pos_embedding_groups"));
        CHECK_THAT(refusal(name, "conv_bias", true), contains("conv.bias"));
        CHECK_THAT(refusal(name, "architectures", {"Wav2Vec2ForSequenceClassification"}),
                   contains("/architectures") && contains("Wav2Vec2ForCTC"));
    }
    CHECK_THAT(refusal("hubert", "conv_pos_batch_norm", true), contains("/conv_pos_batch_norm"));
    CHECK_THAT(refusal("wavlm", "add_adapter", true), contains("/add_adapter") && contains("expected false"));
    CHECK_THAT(refusal("wavlm", "num_buckets", 16), contains("rel_attn_embed.weight"));
    CHECK_THAT(refusal("wavlm", "num_buckets", 3), contains("/max_bucket_distance") && contains("3"));
    CHECK_THAT(refusal("wavlm", "max_bucket_distance", 3), contains("/max_bucket_distance") && contains("quarter"));
    CHECK_THAT(refusal("wavlm", "max_bucket_distance", 1 << 20), contains("/max_bucket_distance"));
    CHECK_THAT(refusal("wavlm", "num_attention_heads", 5), contains("/num_attention_heads") && contains("divisor"));
    CHECK_THAT(refusal("hubert", "feat_proj_layer_norm", false), contains("feature_projection.layer_norm"));
}

TEST_CASE("architectures: Moonshine has one number of heads, which is also that of keys and values") {
    CHECK_THAT(refusal("moonshine", "encoder_num_key_value_heads", 1),
               contains("/encoder_num_key_value_heads: expected 3"));
    CHECK(refusal("moonshine", "decoder_num_attention_heads", 6).empty()); // transformers takes the encoder's
    CHECK_THAT(refusal("moonshine",
                       [](nlohmann::json &c) {
                           c["encoder_num_attention_heads"] = 40;
                           c.erase("encoder_num_key_value_heads");
                       }),
               contains("/encoder_num_attention_heads: expected at most the hidden_size, 36"));
    CHECK_THAT(refusal("moonshine", "head_dim", nullptr), contains("/head_dim: expected a number, found null"));
    CHECK_THAT(refusal("moonshine", "hidden_size", 48), contains("conv1"));
    CHECK_THAT(refusal("moonshine", "is_causal", true), contains("/is_causal: expected no such key"));
    CHECK_THAT(refusal("moonshine", "model_type", "moonshine_streaming"),
               contains("nearest by its settings is 'moonshine'"));
}

TEST_CASE("architectures: DINOv3 with other heads or tokens is refused") {
    CHECK_THAT(refusal("dinov3", "num_attention_heads", 6),
               contains("/num_attention_heads") && contains("multiple of 4"));
    CHECK_THAT(refusal("dinov3", "num_register_tokens", 2), contains("register_tokens"));
    CHECK_THAT(refusal("dinov3", "num_register_tokens", 2000), contains("/num_register_tokens: expected 0 to 1024"));
    CHECK_THAT(refusal("dinov3", "rope_theta", 0.0), contains("/rope_theta: expected a number above 0"));
    CHECK_THAT(refusal("dinov3", "key_bias", true), contains("k_proj.bias"));
    CHECK_THAT(refusal("dinov3", "architectures", {"DINOv3ViTForImageClassification"}), contains("/architectures"));
    CHECK_THAT(refusal("dinov3", "model_type", "dinov3_convnext"), contains("'dinov3_convnext' is not supported"));
}
