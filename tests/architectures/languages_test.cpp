// The languages that callers of a translator choose by name.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/convert.hpp>
#include <lamina/texts.hpp>

#include <functional>
#include <set>

using namespace lamina;
using matchers::contains;
using nlohmann::json;

namespace {

using Tokens = std::vector<int32_t>;

Tokens translated(const std::filesystem::path &folder, const Choices &choices) {
    GenerateOptions options;
    options.max_length = 6;
    options.choices = choices;
    return test::session_of(folder).hypotheses({"die katze sitzt dort"}, options).front().front().tokens;
}

std::vector<std::string> languages_of(const std::filesystem::path &folder, const std::string &choice) {
    const auto choices = inspect(test::runtime().load(folder)).generation.value().choices;
    const auto found = choices.find(choice);
    return found == choices.end() ? std::vector<std::string>() : found->second;
}

void set(const TemporaryFolder &folder, const std::string &file, const std::string &key, const json &value) {
    json content = test::json_of(folder.path() / file);
    content[key] = value;
    (void)folder.write(file, content.dump());
}

} // namespace

TEST_CASE("languages: a translator reads and writes those that a caller names, also after conversion") {
    const TemporaryFolder folder, converted, as_files_say;
    test::copy_with_pieces("m2m_100", folder);
    test::copy_with_pieces("m2m_100", as_files_say);
    convert(test::runtime(), folder.path(), {}).model.save(converted.path() / "model");
    const std::vector<std::string> all{"cs", "de", "en", "ha", "is", "ja", "ru", "zh"};
    for (const auto &path : {folder.path(), converted.path() / "model"}) {
        CHECK(languages_of(path, "language") == all);
        CHECK(languages_of(path, "source_language") == all);
    }
    std::set<Tokens> found;
    for (const auto &[source, target, id] : {std::tuple{"de", "en", 41}, {"en", "en", 41}, {"zh", "ru", 46}}) {
        INFO(source << " to " << target);
        set(as_files_say, "tokenizer_config.json", "src_lang", source);
        set(as_files_say, "generation_config.json", "forced_bos_token_id", id);
        const Tokens expected = translated(as_files_say.path(), {});
        CHECK(expected.front() == id);
        const Choices choices{{"source_language", source}, {"language", target}};
        for (const auto &path : {folder.path(), converted.path() / "model", as_files_say.path()})
            CHECK(translated(path, choices) == expected);
        found.insert(expected);
    }
    CHECK(found.size() == 3);
    CHECK(translated(as_files_say.path(), {{"language", "cs"}}).front() == 45); // what the files say does not count
    CHECK_THAT(message_of([&] {
                   (void)translated(folder.path(), {{"language", "dee"}});
               }),
               contains("language: 'dee' is not supported by the model"));
    CHECK_THAT(message_of([&] {
                   (void)translated(folder.path(), {{"target_language", "de"}});
               }),
               contains("has no such setting; its settings are language, source_language"));
}

TEST_CASE("languages: Marian is told what to write in front of what it reads, whether the text says it or the caller") {
    const TemporaryFolder folder;
    test::copy_with_pieces("marian", folder);
    CHECK(languages_of(folder.path(), "language").empty()); // there is one
    json vocabulary = test::json_of(folder.path() / "vocab.json");
    const auto piece = std::ranges::find_if(vocabulary.items(), [](const auto &each) { return each.value() == 30; });
    vocabulary.erase(piece.key());
    vocabulary[">>fra<<"] = 30;
    (void)folder.write("vocab.json", vocabulary.dump());
    CHECK(languages_of(folder.path(), "language") == std::vector<std::string>{"de", "fra"});
    CHECK(languages_of(folder.path(), "source_language").empty());
    const auto written = [&](const std::string &text, const Choices &choices) {
        GenerateOptions options;
        options.choices = choices;
        options.max_length = 6;
        return test::session_of(folder.path()).hypotheses({text}, options).front().front().log_probability;
    };
    const double french = written(">>fra<< the cat", {}), german = written(">>de<< the cat", {});
    CHECK(french != german);
    for (const char *text : {"the cat", ">>de<< the cat", ">>fra<< the cat"}) {
        CHECK(written(text, {{"language", "fra"}}) == french);
        CHECK(written(text, {{"language", "de"}}) == german);
    }
}

TEST_CASE("languages: where a tokenizer puts that of a text decides what is replaced") {
    const std::map<std::string, int32_t> ids{{"en_XX", 3}, {"de_DE", 4}};
    const TemporaryFolder folder;
    std::filesystem::copy(test::architectures / "models" / "mbart", folder.path(),
                          std::filesystem::copy_options::recursive);
    json vocabulary = json::object(), added = json::array();
    const int32_t words = test::json_of(folder.path() / "config.json")["vocab_size"];
    for (int32_t i = 0; i < words; ++i) vocabulary["w" + std::to_string(i)] = i;
    for (const auto &[token, id] : ids) {
        vocabulary.erase("w" + std::to_string(id));
        vocabulary[token] = id;
        added.push_back({{"id", id},
                         {"content", token},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
    }
    vocabulary.erase("w2");
    vocabulary["</s>"] = 2;
    added.push_back({{"id", 2},
                     {"content", "</s>"},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    (void)folder.write("tokenizer.json",
                       json{{"version", "1.0"},
                            {"added_tokens", added},
                            {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                            {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}}
                           .dump());
    const auto set_class = [&](const char *name, const char *language) {
        (void)folder.write("tokenizer_config.json", json{{"tokenizer_class", name}, {"src_lang", language}}.dump());
    };
    const auto score = [&](const Choices &choices) {
        GenerateOptions options;
        options.max_length = 4;
        options.choices = choices;
        return test::session_of(folder.path()).hypotheses({"w7 w9"}, options).front().front().log_probability;
    };
    for (const char *name : {"MBartTokenizer", "MBart50Tokenizer"}) {
        INFO(name);
        set_class(name, "de_DE");
        const double expected = score({}), other = score({{"source_language", "en_XX"}});
        CHECK(expected != other);
        set_class(name, "en_XX");
        CHECK(score({{"source_language", "de_DE"}}) == expected);
        CHECK(score({}) == other);
    }
}

TEST_CASE("languages: choices that a model's graphs or tokenizers do not have are refused by their place") {
    const TemporaryFolder folder;
    test::copy_with_pieces("m2m_100", folder);
    convert(test::runtime(), folder.path(), {}).model.save(folder.path() / "model");
    const json whole = test::json_of(folder.path() / "model" / "model.json");
    const auto refusal = [&](const std::function<void(json &)> &change) {
        json changed = whole;
        change(changed["tokens"]);
        (void)folder.write("model/model.json", changed.dump());
        return message_of([&] { (void)test::runtime().load(folder.path() / "model"); });
    };
    CHECK(refusal([](json &) {}).empty());
    CHECK_THAT(refusal([](json &tokens) { tokens["choices"]["language"]["ids"]["de"] = 53; }),
               contains("/tokens/choices/language/ids: expected ids below 53, found 53 for 'de'"));
    CHECK_THAT(refusal([](json &tokens) { tokens["choices"]["source_language"]["ids"]["de"] = 49; }),
               contains("/tokens/choices/source_language/ids: expected ids below 49, found 49 for 'de'"));
    CHECK_THAT(refusal([](json &tokens) {
                   tokens["start"] = {2, 3};
                   tokens["choices"]["language"]["place"] = 2;
               }),
               contains("/tokens/choices/language/place: expected one in \"start\", which has 2"));
}
