// GGUF files of Gemma 4 whose metadata do not fit together.
#include "catch.hpp"
#include "folders.hpp"

#include <cstring>
#include <fstream>
#include <iterator>

using namespace lamina;
using matchers::contains;
using test::runtime;
namespace fs = std::filesystem;

namespace gemma4_gguf {
namespace {

std::string bytes_of(const fs::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// One of models/, with other bytes in it.
class File {
  public:
    explicit File(const std::string &name) : bytes_(bytes_of(test::architectures / "models" / name / "model.gguf")) {}

    // Why it is refused with this value `skipped` bytes behind the key and the type of its value.
    template <class Value>
    [[nodiscard]] std::string with(const std::string &key, Value value, size_t skipped = 0) const {
        const size_t at = bytes_.find(key);
        REQUIRE(at != std::string::npos);
        return changed(at + key.size() + sizeof(uint32_t) + skipped, &value, sizeof value);
    }
    // The same for an entry of a list.
    template <class Value> [[nodiscard]] std::string with_entry(const std::string &key, size_t i, Value value) const {
        return with(key, value, sizeof(uint32_t) + sizeof(uint64_t) + i * sizeof value);
    }
    // The same with a number in the place of another one, where it comes first.
    [[nodiscard]] std::string with_instead(float number, float other) const {
        const size_t at = bytes_.find(std::string(reinterpret_cast<const char *>(&number), sizeof number));
        REQUIRE(at != std::string::npos);
        return changed(at, &other, sizeof other);
    }
    [[nodiscard]] std::string without(const std::string &name) const {
        const size_t at = bytes_.find(name);
        REQUIRE(at != std::string::npos);
        return changed(at, "X", 1);
    }

  private:
    std::string bytes_;

    [[nodiscard]] static std::string changed(std::string bytes, size_t at, const void *value, size_t size) {
        const TemporaryFolder folder;
        std::memcpy(bytes.data() + at, value, size);
        const fs::path file = folder.path() / "model.gguf";
        std::ofstream(file, std::ios::binary) << bytes;
        return message_of([&] { (void)runtime().load(file); });
    }
    [[nodiscard]] std::string changed(size_t at, const void *value, size_t size) const {
        return changed(bytes_, at, value, size);
    }
};

} // namespace

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
