// Conversations with a small untrained model: its answers mean nothing, but they come as they should.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace {

// Llama over the words w0 to w52 between blanks, with a chat template.
std::string talking_model(const TemporaryFolder &folder, const nlohmann::json &generation) {
    const auto from = std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "models" / "llama";
    std::filesystem::copy(from, folder.path(), std::filesystem::copy_options::recursive);
    nlohmann::json vocabulary;
    for (int i = 0; i < 53; ++i) vocabulary["w" + std::to_string(i)] = i;
    const nlohmann::json tokenizer{{"version", "1.0"},
                                   {"added_tokens", nlohmann::json::array()},
                                   {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                                   {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}};
    (void)folder.write("tokenizer.json", tokenizer.dump());
    (void)folder.write("chat_template.jinja",
                       "{% for m in messages %}w{{ loop.index }} {{ m.content }} w40 {% endfor %}");
    (void)folder.write("generation_config.json", generation.dump());
    return folder.path().string();
}

Finished chat(const std::string &model, const std::vector<std::string> &more, const std::string &input = "") {
    std::vector<std::string> arguments{"chat", model, "--device", "cpu", "--max-length", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lamina(arguments, {.input = input});
}

} // namespace

TEST_CASE("chat: each message is answered, from arguments and from lines alike") {
    const TemporaryFolder folder;
    const std::string model = talking_model(folder, nlohmann::json::object());
    const Finished arguments = chat(model, {"w7 w9", "w3"});
    CHECK(arguments.status == 0);
    CHECK(lines_of(arguments.out).size() == 2);
    CHECK_THAT(arguments.err, !matchers::contains("sampling"));
    const Finished lines = chat(model, {}, "w7 w9\nw3\n");
    CHECK(lines.out == arguments.out);
    const Finished json = chat(model, {"w7 w9", "w3", "--json"});
    const auto messages = nlohmann::json::parse(json.out);
    REQUIRE(messages.size() == 4);
    CHECK(messages[2].at("content") == "w3");
    CHECK(messages[3].at("role") == "assistant");
    CHECK(messages[1].at("content").get<std::string>() + "\n" + messages[3].at("content").get<std::string>() + "\n" ==
          arguments.out);
}

TEST_CASE("chat: a system may say something, or nothing") {
    const TemporaryFolder folder;
    const std::string model = talking_model(folder, nlohmann::json::object());
    for (const std::string said : {"w5", ""}) {
        const auto messages = nlohmann::json::parse(chat(model, {"w7", "--system", said, "--json"}).out);
        REQUIRE(messages.size() == 3);
        CHECK(messages[0] == nlohmann::json{{"role", "system"}, {"content", said}});
    }
}

TEST_CASE("chat: samples as the model suggests, unless options say otherwise") {
    const TemporaryFolder folder;
    const std::string model = talking_model(folder, {{"do_sample", true}, {"temperature", 0.6}, {"top_p", 0.9}});
    CHECK_THAT(chat(model, {"w7"}).err, matchers::contains("sampling with --temperature 0.6 --top-k 50 --top-p 0.9, as "
                                                           "the model suggests; --temperature 0 takes the likeliest"));
    CHECK_THAT(chat(model, {"w7", "--top-p", "0.5", "--top-k", "0"}).err,
               matchers::contains("sampling with --temperature 0.6 --top-p 0.5, as the model suggests"));
    const Finished greedy = chat(model, {"w7", "--temperature", "0"});
    CHECK_THAT(greedy.err, !matchers::contains("sampling"));
    CHECK(greedy.out == chat(model, {"w7", "--temperature", "0"}).out);
    const Finished refused = chat(model, {"w7", "--temperature", "0", "--top-k", "3"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, matchers::contains("needs --temperature"));
}
