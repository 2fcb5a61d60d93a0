// A full device: a session drops its programs for other shapes.
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "letters.hpp"
#include "places.hpp"

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

#include <algorithm>
#include <map>
#include <optional>

using namespace lamina;

namespace {

Runtime uncached_runtime() {
    RuntimeOptions options;
    options.plugin_folders = {LAMINA_PLUGIN_DIR};
    options.cache = false;
    return Runtime(options);
}

Tensor encode(Session &session, int64_t length) {
    Tensor letters(TensorType{DType::i32, {1, length}});
    std::ranges::fill(letters.i32(), 5);
    const Tensor lengths = Tensor::of({1}, std::vector<int32_t>{static_cast<int32_t>(length)});
    return session.run("encode", {{"letters", letters}, {"lengths", lengths}}).at("memory");
}

// A language model whose tokens are a, b and c. Each takes 16 * d_model bytes of caches: 2 layers of keys and values.
Model load_letters(const Runtime &runtime, int64_t d_model = 16) {
    const DecoderOnly letters{.embedding = {.d_model = d_model, .vocabulary = 5, .max_len = 60000},
                              .decoder = {.layer = {.d_model = d_model, .heads = 2, .ffn = 32}, .layers = 2},
                              .generator = {.d_model = d_model, .vocabulary = 5}};
    const TextVocabularies text{.target = {"<s>", "</s>", "a", "b", "c"}, .target_characters = true, .max_length = 20};
    return runtime.load(build(letters, {.name = "letters", .text = text}));
}

} // namespace

TEST_CASE("decoding: a step is one submission; it records and allocates nothing") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const Runtime runtime = uncached_runtime();
    Session session = runtime.session(runtime.load(LAMINA_SOURCE_DIR "/models/g2p"), runtime.device("vulkan:0"));
    const auto calls = [&](const char *function, int64_t tokens) {
        GenerateOptions generate;
        generate.max_length = tokens;
        const auto decode = [&] {
            CHECK(session.hypotheses({"transformer"}, generate)[0][0].tokens.size() == static_cast<size_t>(tokens));
        };
        return test::calls_of(*faults, function, decode);
    };
    for (const int64_t tokens : {8, 3}) (void)calls("vkQueueSubmit", tokens); // from now on the programs are there
    CHECK(calls("vkQueueSubmit", 8) == calls("vkQueueSubmit", 3) + 5);
    for (const char *function : {"vkAllocateMemory", "vkCreateBuffer", "vkCreateFence", "vkAllocateCommandBuffers",
                                 "vkBeginCommandBuffer", "vkAllocateDescriptorSets"}) {
        INFO(function);
        CHECK(calls(function, 8) == calls(function, 3));
    }
}

TEST_CASE("decoding: caches that have grown serve the next texts") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const Runtime runtime = uncached_runtime();
    Session session = runtime.session(load_letters(runtime), runtime.device("vulkan:0"));
    std::string prompt;
    for (int i = 0; i < 100; ++i) prompt += "abc"; // more than the caches hold at first
    const auto decode = [&] { CHECK(session.generate({prompt}).size() == 1); };
    CHECK(test::calls_of(*faults, "vkAllocateMemory", decode) > 0);
    decode(); // its first block already finds the longer caches
    for (const char *function : {"vkAllocateMemory", "vkCreateBuffer", "vkBeginCommandBuffer"}) {
        INFO(function);
        CHECK(test::calls_of(*faults, function, decode) == 0);
    }
}

TEST_CASE("memory: a graph that does not fit next to earlier ones evicts them") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const Runtime runtime = uncached_runtime();
    const Model model = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    Session session = runtime.session(model, runtime.device("vulkan:0"));
    Session other = runtime.session(model, runtime.device("vulkan:0"));
    (void)encode(other, 5); // so that the variants are proved for it
    const auto first = [&] { (void)encode(session, 4); };
    CHECK(test::calls_of(*faults, "vkAllocateMemory", first) > 0);
    CHECK(test::calls_of(*faults, "vkAllocateMemory", first) == 0);
    test::fail(*faults, "vkAllocateMemory", 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(encode(session, 5).shape()[1] == 5);
    CHECK(test::calls_of(*faults, "vkAllocateMemory", first) > 0); // it had been dropped

    test::fail_again_and_again(*faults, "vkAllocateMemory", 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(test::thrown_by([&] { (void)encode(session, 6); }).is(ErrorCode::memory));
    test::heal(*faults);
    CHECK(encode(session, 6).shape()[1] == 6);
}

TEST_CASE(
    "memory: texts whose caches could not become as long as the texts may are refused before weights are uploaded") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->heap_bytes = 8u << 20;
    const Runtime runtime = uncached_runtime();
    Session session = runtime.session(load_letters(runtime), runtime.device("vulkan:0"));
    GenerateOptions generate;
    generate.max_length = 50000; // 12.2 MiB: 2 layers of 16 keys and 16 values in f32
    const auto refusal = [&] { return test::thrown_by([&] { (void)session.generate({"abc"}, generate); }); };
    test::Thrown thrown;
    CHECK(test::calls_of(*faults, "vkAllocateMemory", [&] { thrown = refusal(); }) == 0);
    CHECK(thrown.is(ErrorCode::memory));
    INFO(thrown.message);
    for (const char *part : {"decoding a text of up to 50008 tokens needs 12.2 MiB on vulkan:0", "caches 12.2 MiB",
                             "8.0 MiB are free", "attention.heads.key_cache' (3.1 MiB)", "--max-length", "--cache f16"})
        CHECK_THAT(thrown.message, matchers::contains(part));

    generate.max_length = 20;
    CHECK(refusal().code == 0);
}

TEST_CASE("memory: a batch can be made for as many and as long texts as there is room for") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    faults->heap_bytes = 10u << 20;
    const Runtime runtime = uncached_runtime();
    const Model model = load_letters(runtime, 64);
    Session session = runtime.session(model, runtime.device("vulkan:0"));
    const BatchOptions wanted{.slots = 8, .length = 1024}; // 8 MiB, and 4 MiB of shorter caches while they grow
    const BatchRoom room = room_for(session, wanted);
    CHECK_FALSE(room.whole);
    CHECK(room.slots == 4);
    CHECK(room.length == 1024);
    CHECK(room.caches == 4u << 20);
    CHECK(room_for(session, wanted, 6u << 20).slots == 1);                        // others have been promised the rest
    CHECK(room_for(session, {.slots = 1, .length = 50000}).length == 50000 / 16); // 49 MiB
    CHECK(room_for(session, {.slots = 2, .length = 1000}).whole);
    SessionOptions half;
    half.cache = DType::f16;
    CHECK(room_for(runtime.session(model, runtime.device("vulkan:0"), half), wanted).whole);

    CHECK_THAT(test::thrown_by([&] { (void)Batch(session, {.slots = 16, .length = 1024}); }).message,
               matchers::contains("--context"));
    Batch batch(session, {.slots = room.slots, .length = room.length});
    GenerateOptions whole;
    whole.max_length = 10;
    for (size_t i = 0; i < room.slots; ++i) (void)batch.add(std::string(1000, "abc"[i % 3]), whole);
    size_t ended = 0;
    while (!batch.empty())
        for (const Batch::Progress &text : batch.step()) ended += text.finished ? 1 : 0;
    CHECK(ended == room.slots); // caches have grown beside each other
}

TEST_CASE("memory: where caches cannot become longer, the longest text of a batch fails, and the others go on") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const Runtime runtime = uncached_runtime();
    const Model model = runtime.load(test::letters());
    const auto of_length = [](int64_t tokens) {
        GenerateOptions out;
        out.max_length = tokens;
        return out;
    };
    Session session = runtime.session(model, runtime.device("vulkan:0")),
            alone = runtime.session(model, runtime.device("cpu"));
    Batch batch(session, {.slots = 4, .length = 1000});
    std::map<uint64_t, Hypothesis> expected, found;
    const auto add = [&](const std::string &text, int64_t tokens) {
        const uint64_t id = batch.add(text, of_length(tokens));
        expected[id] = alone.hypotheses({text}, of_length(tokens)).front().front();
        return id;
    };
    for (const char *text : {"abc", "ccc", "bac"}) (void)add(text, 60);
    const uint64_t longest = add(std::string(230, 'b'), 60);
    for (int i = 0; i < 5; ++i) (void)batch.step();
    test::fail_again_and_again(*faults, "vkAllocateMemory", 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    std::optional<Error> failed;
    while (!batch.empty())
        for (Batch::Progress &text : batch.step()) {
            if (text.finished) found[text.id] = *text.finished;
            if (!text.failed) continue;
            CHECK(text.id == longest);
            CHECK_FALSE(failed.has_value());
            failed = text.failed;
            test::heal(*faults);
        }
    REQUIRE(failed.has_value());
    CHECK(failed->code() == ErrorCode::memory);
    CHECK_THAT(failed->what(), matchers::contains("no memory for a text of 257 tokens"));
    expected.erase(longest);
    REQUIRE(found.size() == expected.size());
    for (const auto &[id, text] : expected) CHECK(found[id].tokens == text.tokens);
}

TEST_CASE("memory: where there is none for several texts of an encoder together, fewer are read at a time") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    const Runtime runtime = uncached_runtime();
    const Model model = runtime.load(LAMINA_SOURCE_DIR "/models/g2p");
    Session session = runtime.session(model, runtime.device("vulkan:0")),
            alone = runtime.session(model, runtime.device("cpu"));
    Batch batch(session, {.slots = 4});
    std::map<uint64_t, std::string> words;
    for (const char *word : {"hello", "world", "lamina", "sun"}) words[batch.add(word, {})] = word;
    test::fail_again_and_again(*faults, "vkAllocateMemory", 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    std::vector<uint64_t> failed;
    while (!batch.empty())
        for (Batch::Progress &text : batch.step()) {
            if (text.failed) {
                CHECK(text.failed->code() == ErrorCode::memory);
                CHECK_THAT(text.failed->what(), matchers::contains("no memory for a text of 5 tokens"));
                failed.push_back(text.id);
                test::heal(*faults);
            }
            if (text.finished) CHECK(text.finished->text == alone.generate({words[text.id]}, {}).front());
        }
    CHECK(failed == std::vector<uint64_t>{words.begin()->first}); // the first one alone
}
