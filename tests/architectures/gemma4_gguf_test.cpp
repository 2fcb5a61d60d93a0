// GGUF files of Gemma 4 whose metadata do not fit together.
#include "catch.hpp"
#include "changed_gguf.hpp"

using namespace lamina;
using matchers::contains;
using File = test::ChangedGguf;

namespace gemma4_gguf {

TEST_CASE("Gemma 4 in GGUF: sizes of layers have to fit together") {
    const File file("gguf_gemma4_plain"), experts("gguf_gemma4_experts_plain");
    CHECK(file.with("gemma4.attention.shared_kv_layers", uint32_t{2}).empty());
    CHECK_THAT(file.with("gemma4.attention.key_length_swa", uint32_t{10}),
               contains("'gemma4.attention.value_length_swa'") && contains("expected 10"));
    CHECK_THAT(file.with("gemma4.attention.key_length", uint32_t{10}),
               contains("values of 12 channels of a head beside keys of 10 are not supported"));
    CHECK_THAT(file.with("gemma4.rope.dimension_count", uint32_t{6}),
               contains("'gemma4.rope.dimension_count'") && contains("all channels of a head, 12"));
    CHECK_THAT(file.with("gemma4.rope.dimension_count_swa", uint32_t{6}),
               contains("'gemma4.rope.dimension_count_swa'") && contains("all channels of a head, 8"));
    CHECK_THAT(file.with("gemma4.attention.shared_kv_layers", uint32_t{1}),
               contains("'gemma4.feed_forward_length'") && contains("twice as much"));
    CHECK_THAT(file.with_entry("gemma4.feed_forward_length", 1, int32_t{45}),
               contains("'gemma4.feed_forward_length'") && contains("twice as much"));
    CHECK_THAT(file.with_entry("gemma4.feed_forward_length", 0, int32_t{0}), contains("numbers above 0"));
    CHECK_THAT(file.with_entry("gemma4.attention.sliding_window_pattern", 3, true),
               contains("'gemma4.attention.sliding_window_pattern'") && contains("a last layer without a window"));
    CHECK_THAT(experts.with_entry("gemma4.attention.head_count_kv", 1, int32_t{2}),
               contains("the same heads in all layers of a kind"));
    CHECK_THAT(file.without("gemma4.attention.key_length_swa"),
               contains("the metadata lack the key 'gemma4.attention.key_length_swa'"));
}

TEST_CASE("Gemma 4 in GGUF: divisors of frequencies say which are turned") {
    const File file("gguf_gemma4_plain");
    CHECK_THAT(file.with_instead(1e30F, 2), contains("'rope_freqs.weight'") && contains("expected 6 numbers"));
    CHECK(file.with_instead(1e30F, 1).empty()); // a pair more
    CHECK_THAT(file.without("rope_freqs.weight"), contains("'rope_freqs.weight'"));
}

} // namespace gemma4_gguf
