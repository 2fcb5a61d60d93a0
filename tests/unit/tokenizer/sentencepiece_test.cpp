#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "catch.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include <lamina/tokenizer.hpp>

using namespace lamina;

namespace {

const std::string fixtures = LAMINA_SOURCE_DIR "/tests/unit/tokenizer/fixtures/";

std::vector<int32_t> numbers(const JsonView &view) {
    std::vector<int32_t> out;
    for (const JsonView each : view.items()) out.push_back(static_cast<int32_t>(each.integer(0, INT32_MAX)));
    return out;
}

} // namespace

TEST_CASE("a SentencePiece model gives the original's ids, offsets and texts") {
    const Tokenizer tokenizer = Tokenizer::load(fixtures + "spm.model");
    const std::vector<std::byte> bytes = read_file(fixtures + "spm_texts.json");
    const JsonText expected({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, "spm_texts.json");
    REQUIRE(expected.root().items().size() == 6);
    for (const JsonView each : expected.root().items()) { // [text, ids, begins and ends, decoded]
        auto part = each.items().begin();
        const std::string text((*part).string());
        CAPTURE(text);
        const Encoding found = tokenizer.encode(text, {.offsets = EncodeOptions::Unit::bytes});
        CHECK(found.ids == numbers(*++part));
        std::vector<int32_t> offsets;
        for (const TextRange &range : found.offsets) {
            offsets.push_back(static_cast<int32_t>(range.begin));
            offsets.push_back(static_cast<int32_t>(range.end));
        }
        CHECK(offsets == numbers(*++part));
        CHECK(tokenizer.decode(found.ids) == (*++part).string());
    }
    CHECK(tokenizer.id("no such piece") == std::nullopt);
    CHECK(tokenizer.token(1'000'000) == std::nullopt);
}

TEST_CASE("a file that is not a SentencePiece model is refused") {
    const TemporaryFolder temporary;
    const auto file = temporary.write("x.model", "no model at all");
    CHECK(
        message_of([&] { (void)Tokenizer::load(file); }).starts_with(file.string() + ": not a SentencePiece model: "));
}
