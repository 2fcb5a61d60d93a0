// The languages that callers of a translator choose by name.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/batch.hpp>
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

// A word for each id of the folder's model, but for </s> (2), en_XX (3) and de_DE (4).
void write_word_tokenizer(const TemporaryFolder &folder) {
    const int32_t words = test::json_of(folder.path() / "config.json")["vocab_size"];
    json vocabulary = json::object(), added = json::array();
    for (int32_t i = 0; i < words; ++i) {
        const std::string token = i == 2 ? "</s>" : i == 3 ? "en_XX" : i == 4 ? "de_DE" : "w" + std::to_string(i);
        vocabulary[token] = i;
        if (i >= 2 && i <= 4)
            added.push_back({{"id", i},
                             {"content", token},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", true}});
    }
    (void)folder.write("tokenizer.json",
                       json{{"version", "1.0"},
                            {"added_tokens", added},
                            {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                            {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}}
                           .dump());
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
    const auto left_open = [](const std::filesystem::path &path) {
        return inspect(test::runtime().load(path)).generation.value().left_open;
    };
    CHECK(left_open(folder.path()) == std::vector<std::string>{"language"});
    std::set<Tokens> found;
    for (const auto &[source, target, id] : {std::tuple{"de", "en", 41}, {"en", "en", 41}, {"zh", "ru", 46}}) {
        INFO(source << " to " << target);
        set(as_files_say, "tokenizer_config.json", "src_lang", source);
        set(as_files_say, "generation_config.json", "forced_bos_token_id", id);
        const Tokens expected = translated(as_files_say.path(), {});
        CHECK(expected.front() == id);
        CHECK(left_open(as_files_say.path()).empty());
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
    const TemporaryFolder folder;
    std::filesystem::copy(test::architectures / "models" / "mbart", folder.path(),
                          std::filesystem::copy_options::recursive);
    write_word_tokenizer(folder);
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

TEST_CASE("languages: what makes a source too long for the encoder is refused, and others are answered") {
    const TemporaryFolder folder;
    test::copy_with_pieces("marian", folder);
    json vocabulary = test::json_of(folder.path() / "vocab.json");
    const auto piece = std::ranges::find_if(vocabulary.items(), [](const auto &each) { return each.value() == 30; });
    vocabulary.erase(piece.key());
    vocabulary[">>fra<<"] = 30;
    (void)folder.write("vocab.json", vocabulary.dump());
    const Model model = test::runtime().load(folder.path());
    const int64_t positions = test::json_of(folder.path() / "config.json")["max_position_embeddings"];
    std::string longest;
    for (int64_t i = 1; i < positions; ++i) longest += ">>de<<"; // and the end
    GenerateOptions options;
    options.choices = {{"language", "fra"}};
    CHECK(prompt_ids(model, {longest}, options).ids.front().size() ==
          static_cast<size_t>(positions)); // in place of one
    longest.replace(0, 6, "a");
    CHECK_FALSE(prompt_ids(model, {longest}).refused);
    CHECK(prompt_ids(model, {"a", longest}, options).refused.value().text == 1);
    Session session = test::runtime().session(model, test::runtime().device("cpu"));
    CHECK_THAT(message_of([&] { (void)session.generate({"a", longest}, options); }), contains("text 2: "));
    Batch batch(session, {.slots = 4});
    CHECK_THAT(message_of([&] { (void)batch.add(longest, options); }), contains("33 tokens"));
    CHECK_THAT(message_of([&] { (void)batch.add_ids(prompt_ids(model, {longest}).ids.front(), options); }),
               contains("33 tokens"));
    // One batch of texts in different languages.
    const std::vector<std::string> wanted{"fra", "de", "fra"};
    std::vector<uint64_t> ids;
    std::map<uint64_t, Hypothesis> found;
    for (const std::string &language : wanted) {
        options.choices = {{"language", language}};
        ids.push_back(batch.add("the cat", options));
    }
    while (found.size() < wanted.size())
        for (Batch::Progress &each : batch.step())
            if (each.finished) found.emplace(each.id, *each.finished);
    for (size_t i = 0; i < wanted.size(); ++i) {
        options.choices = {{"language", wanted[i]}};
        options.beams = 1;
        CHECK(found.at(ids[i]).tokens == session.hypotheses({"the cat"}, options).front().front().tokens);
    }
}

TEST_CASE("languages: mBART's decoder starts with one, others write one first") {
    const TemporaryFolder folder;
    std::filesystem::copy(test::architectures / "models" / "mbart", folder.path(),
                          std::filesystem::copy_options::recursive);
    write_word_tokenizer(folder);
    set(folder, "generation_config.json", "decoder_start_token_id", 3); // en_XX
    const auto written = [&](const Choices &choices) {
        GenerateOptions options;
        options.max_length = 4;
        options.choices = choices;
        return test::session_of(folder.path()).hypotheses({"w7 w9"}, options).front().front();
    };
    const Hypothesis english = written({});
    CHECK(english.start == Tokens{3});
    CHECK(written({{"language", "en_XX"}}).tokens == english.tokens);
    const Hypothesis german = written({{"language", "de_DE"}});
    CHECK(german.start == Tokens{4});
    set(folder, "generation_config.json", "decoder_start_token_id", 4);
    CHECK(written({}).tokens == german.tokens);
    set(folder, "generation_config.json", "decoder_start_token_id", 2);
    CHECK(written({{"language", "de_DE"}}).tokens.front() == 4);
    set(folder, "generation_config.json", "bad_words_ids", {{4}});
    CHECK(written({{"language", "de_DE"}}).tokens.front() == 4);
}

TEST_CASE("languages: tokens of a kind that a family does not have are no languages") {
    const TemporaryFolder folder;
    test::copy_with_pieces("m2m_100", folder);
    json vocabulary = test::json_of(folder.path() / "vocab.json");
    vocabulary.erase("madeupword0");
    vocabulary[">>de<<"] = 40;
    (void)folder.write("vocab.json", vocabulary.dump());
    CHECK(languages_of(folder.path(), "language").size() == 8);
    CHECK(languages_of(folder.path(), "source_language").size() == 8);
    const TemporaryFolder bart;
    std::filesystem::copy(test::architectures / "models" / "bart", bart.path(),
                          std::filesystem::copy_options::recursive);
    write_word_tokenizer(bart);
    CHECK(inspect(test::runtime().load(bart.path())).generation.value().choices.empty());
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
