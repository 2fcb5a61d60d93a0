// --lora. tests/architectures/adapters_test.cpp compares what adapted models compute.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

using matchers::contains;

namespace {

const std::string folder_of_tests = LAMINA_SOURCE_DIR "/tests/architectures/";
const std::string llama = folder_of_tests + "models/llama", adapter = folder_of_tests + "adapters/llama";

} // namespace

TEST_CASE("--lora: commands that load a model merge adapters into it") {
    const std::string golden = adapter + "/golden.safetensors";
    const std::vector<std::string> compared{"compare", llama, "--with", golden, "-d", "cpu"};
    const auto compare = [&](std::vector<std::string> more) {
        more.insert(more.begin(), compared.begin(), compared.end());
        return run_lamina(more).status;
    };
    CHECK(compare({}) == 7); // beyond tolerance
    CHECK(compare({"--lora", adapter}) == 0);
    CHECK(compare({"--lora", adapter + "=0.25", "--lora", adapter + "=0.75"}) == 0);
    CHECK(compare({"--lora", adapter + "=0.5"}) == 7);

    const TemporaryFolder folder;
    const std::string merged = (folder.path() / "merged").string();
    CHECK(run_lamina({"convert", llama, merged, "--lora", adapter}).status == 0);
    CHECK(run_lamina({"compare", merged, "--with", golden, "-d", "cpu"}).status == 0);
}

TEST_CASE("--lora: inspect says what adapters change, and what memory that takes") {
    const auto inspect = [](const std::vector<std::string> &more) {
        std::vector<std::string> all{"inspect", "--json", llama};
        all.insert(all.end(), more.begin(), more.end());
        return nlohmann::json::parse(run_lamina(all).out).at("notes");
    };
    CHECK(inspect({}).empty());
    CHECK_THAT(inspect({"--lora", adapter}).at(0).get<std::string>(),
               contains("1 adapter changes 14 matrices, which are f32"));
    CHECK_THAT(run_lamina({"inspect", llama, "--lora", adapter}).out,
               contains("\nnotes\n  1 adapter changes 14 matrices"));
}

TEST_CASE("--lora: what is no adapter, no number, or does not fit is said") {
    const auto refused = [](const std::vector<std::string> &arguments, int status) {
        const Finished f = run_lamina(arguments);
        CHECK(f.status == status);
        return f.err;
    };
    CHECK_THAT(refused({"inspect", llama, "--lora", adapter + "=strong"}, 2),
               contains("--lora: expected ADAPTER or ADAPTER=SCALE with a number; found '" + adapter + "=strong'"));
    CHECK_THAT(refused({"inspect", llama, "--lora", "=2"}, 2), contains("--lora: expected ADAPTER or ADAPTER=SCALE"));
    CHECK_THAT(refused({"inspect", llama, "--lora", adapter + "=inf"}, 2), contains("--lora: expected"));
    CHECK_THAT(refused({"inspect", llama, "--lora", "no-such-adapter"}, 3), contains("no-such-adapter"));
    CHECK_THAT(refused({"inspect", llama, "--lora", llama}, 3), contains("adapter_config.json"));
    CHECK_THAT(refused({"run", llama, "x", "--lora", folder_of_tests + "adapters/gpt2"}, 3),
               contains("is it for another model?"));
    CHECK_THAT(refused({"compare", llama, "--lora", adapter, "--with", "transformers", "x"}, 2),
               contains("merge_and_unload()"));
    CHECK_THAT(refused({"serve", llama, "second=" + llama, "--port", "0", "--lora", adapter}, 2),
               contains("--lora: expected one MODEL, which the adapter changes; found 2"));
    CHECK_THAT(refused({"inspect", adapter}, 3),
               contains("part of an adapter (LoRA)") && contains("--lora with this folder"));
}
