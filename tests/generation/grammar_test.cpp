// Texts of a grammar: whatever a model prefers, what it writes is of the grammar.
#include "catch.hpp"
#include "plugin_runtime.hpp"
#include "vulkan_devices.hpp"

#include <nlohmann/json.hpp>

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

#include <map>
#include <string>
#include <vector>

using namespace lamina;
using test::runtime;

namespace {

constexpr int64_t characters = 700; // enough for candidates to pay

// An untrained language model of characters: those of ASCII, and some beyond.
ModelDescription characters_model(uint64_t seed) {
    std::vector<std::string> tokens{"\x01", "\x02"};
    for (char c = ' '; c <= '~'; ++c) tokens.emplace_back(1, c);
    while (tokens.size() < characters) { // from U+0100 on
        const auto code = static_cast<unsigned>(0x100 + tokens.size());
        tokens.push_back({static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))});
    }
    const DecoderOnly model{
        .embedding = {.d_model = 32, .vocabulary = characters},
        .decoder = {.layer = {.d_model = 32, .heads = 4, .ffn = 64}, .layers = 2},
        .generator = {.d_model = 32, .vocabulary = characters, .output = Generator::Output::logits}};
    TextVocabularies text{.target = tokens, .target_characters = true};
    text.start = tokens[0], text.end = tokens[1], text.max_length = 200;
    ModelDescription built = build(model, {.name = "characters", .seed = seed, .text = text});
    for (float &weight : built.weights.at("generator.weight").f32()) weight *= 3; // some tokens are far likelier
    return built;
}

// An untrained language model of words, with blanks between them.
ModelDescription words_model(std::vector<std::string> words) {
    std::vector<std::string> tokens{"<s>", "</s>"};
    tokens.insert(tokens.end(), words.begin(), words.end());
    const auto count = static_cast<int64_t>(tokens.size());
    const DecoderOnly model{.embedding = {.d_model = 32, .vocabulary = count},
                            .decoder = {.layer = {.d_model = 32, .heads = 4, .ffn = 64}, .layers = 2},
                            .generator = {.d_model = 32, .vocabulary = count, .output = Generator::Output::logits}};
    TextVocabularies text{.target = tokens, .target_characters = false};
    text.start = tokens[0], text.end = tokens[1], text.max_length = 20;
    return build(model, {.name = "words", .seed = 1, .text = text});
}

const char *const schema = R"({"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
    "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 3},
    "note": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}},
    "required": ["name", "age", "tags"]})";

GenerateOptions at_most(int64_t longest) {
    GenerateOptions out;
    out.max_length = longest;
    return out;
}

void expect_person(const std::string &text) {
    INFO(text);
    const nlohmann::json person = nlohmann::json::parse(text);
    CHECK(person.at("name").is_string());
    CHECK(person.at("age").get<int>() >= 0);
    CHECK(person.at("age").get<int>() <= 120);
    CHECK(person.at("tags").size() >= 1);
    CHECK(person.at("tags").size() <= 3);
    for (const auto &[key, value] : person.items())
        CHECK((key == "name" || key == "age" || key == "tags" || key == "note"));
}

std::vector<std::pair<std::string, GenerateOptions>> ways_of_schema() {
    const auto with = [](const auto &change) {
        GenerateOptions options;
        options.seed = 5;
        options.max_length = 180;
        change(options);
        return options;
    };
    return {{"greedy", with([](auto &) {})},
            {"3 beams", with([](auto &o) { o.beams = 3; })},
            {"temperature", with([](auto &o) { o.temperature = 0.9; })},
            {"samples", with([](auto &o) { o.temperature = 1.5, o.beams = 3; })},
            {"beams that are sampled", with([](auto &o) { o.temperature = 1, o.beams = 2, o.beams_compete = true; })},
            {"top_k", with([](auto &o) { o.temperature = 1, o.top_k = 5; })},
            {"top_p", with([](auto &o) { o.temperature = 1, o.top_p = 0.5; })},
            {"typical_p", with([](auto &o) { o.temperature = 1, o.typical_p = 0.5; })},
            {"repetition_penalty", with([](auto &o) { o.repetition_penalty = 1.3; })},
            {"without caches", with([](auto &o) { o.cached = false, o.max_length = 90; })}};
}

} // namespace

TEST_CASE("texts of a schema are valid, however they are searched for, on every device") {
    const Grammar grammar = Grammar::json_schema(schema);
    for (const Device &device : test::devices_of_each_kind(runtime())) {
        Session session = runtime().session(runtime().load(characters_model(2)), device);
        for (auto [name, options] : ways_of_schema()) {
            INFO(device.id << ", " << name);
            options.grammar = grammar;
            size_t ended = 0;
            for (const auto &hypotheses : session.hypotheses({"Ann", "a person: "}, options))
                for (const Hypothesis &h : hypotheses) {
                    if (h.finish == Finish::length) continue; // in a blank that goes on, for example
                    ++ended;
                    CHECK(grammar.matches(h.text));
                    expect_person(h.text);
                }
            CHECK(ended > 0);
        }
    }
}

TEST_CASE("texts of a grammar have the likeliest tokens that it allows") {
    Session session = runtime().session(runtime().load(characters_model(2)), runtime().device("cpu"));
    GenerateOptions options = at_most(1);
    const Hypothesis free = session.hypotheses({"Ann"}, options).front().front();
    options.grammar = Grammar::gbnf("root ::= .{5}");
    CHECK(session.hypotheses({"Ann"}, options).front().front().tokens == free.tokens);
    CHECK(session.hypotheses({"Ann"}, options).front().front().log_probability == free.log_probability);

    // Of all first characters, each alone: the likeliest is what a choice of them gives.
    double best = -1e9;
    std::string likeliest;
    for (const char c : std::string("abcdefgh")) {
        options.grammar = Grammar::gbnf(std::string("root ::= \"") + c + "\" .");
        const Hypothesis only = session.hypotheses({"Ann"}, options).front().front();
        REQUIRE(only.text == std::string(1, c));
        if (only.log_probability > best) best = only.log_probability, likeliest = only.text;
    }
    options.grammar = Grammar::gbnf("root ::= [a-h] .");
    const Hypothesis chosen = session.hypotheses({"Ann"}, options).front().front();
    CHECK(chosen.text == likeliest);
    CHECK_THAT(chosen.log_probability, matchers::within_abs(best, 1e-6));
}

TEST_CASE("what must follow needs no steps, and a text ends where nothing can follow") {
    Session session = runtime().session(runtime().load(characters_model(2)), runtime().device("cpu"));
    GenerateOptions options = at_most(100);
    options.grammar = Grammar::gbnf("root ::= (\"yes\" | \"no\") \", and this is what has to be said about it\"");
    size_t pieces = 0;
    options.stream = [&](size_t, std::string_view piece) { pieces += piece.empty() ? 0 : 1; };
    const Hypothesis found = session.hypotheses({"Ann"}, options).front().front();
    CHECK(options.grammar->matches(found.text));
    CHECK(found.finish == Finish::end);
    CHECK(pieces <= 3); // a choice, all but the last of what follows, the last
    options.max_length = 10;
    const Hypothesis cut = session.hypotheses({"Ann"}, options).front().front();
    CHECK(cut.finish == Finish::length);
    CHECK(cut.tokens.size() == 10);
    CHECK(found.text.starts_with(cut.text));
    options.max_length = 100, options.stop = {"has"};
    const Hypothesis stopped = session.hypotheses({"Ann"}, options).front().front();
    CHECK(stopped.finish == Finish::stop);
    CHECK(found.text.starts_with(stopped.text + "has"));
}

TEST_CASE("what must follow may end within a character or a word") {
    const auto text_of = [](ModelDescription model, const std::string &expression) {
        Session session = runtime().session(runtime().load(std::move(model)), runtime().device("cpu"));
        GenerateOptions options = at_most(20);
        options.grammar = Grammar::regex(expression);
        const std::string found = session.generate({"Ann"}, options).front();
        CHECK(options.grammar->matches(found));
    };
    text_of(characters_model(2), "x(\u0170a|\u0171b)"); // which begin with the same byte
    text_of(words_model({"Ann", "HH", "EH0", "EH1", "L"}), " ?HH (EH0|EH1) L");
}

TEST_CASE("texts of a batch are each of their own grammar, or of none") {
    Session session = runtime().session(runtime().load(characters_model(2)), runtime().device("cpu"));
    const std::vector<std::optional<Grammar>> grammars{Grammar::json_schema(schema), std::nullopt,
                                                       Grammar::regex("[a-f]{3,9}"), Grammar::json_schema(schema),
                                                       Grammar::gbnf("root ::= \"yes\" | \"no\"")};
    std::map<uint64_t, size_t> added;
    std::map<size_t, std::string> found;
    {
        Batch batch(session, {.slots = 3});
        for (size_t i = 0; i < grammars.size(); ++i) {
            GenerateOptions options = at_most(150);
            options.grammar = grammars[i];
            added.emplace(batch.add("Ann", options), i);
        }
        while (!batch.empty())
            for (Batch::Progress &text : batch.step())
                if (text.finished) found.emplace(added.at(text.id), text.finished->text);
    }
    REQUIRE(found.size() == grammars.size());
    for (size_t i = 0; i < grammars.size(); ++i) {
        GenerateOptions options = at_most(150);
        options.grammar = grammars[i];
        CHECK(found.at(i) == session.generate({"Ann"}, options).front());
        if (grammars[i]) CHECK(grammars[i]->matches(found.at(i)));
    }
}

TEST_CASE("a grammar of characters that the model does not have is an error that says so") {
    Session session = runtime().session(runtime().load(characters_model(2)), runtime().device("cpu"));
    GenerateOptions options;
    options.grammar = Grammar::gbnf("root ::= \"語\"");
    try {
        (void)session.generate({"Ann"}, options);
        FAIL("expected an error");
    } catch (const Error &error) {
        CHECK(error.code() == ErrorCode::input); // of whoever chose the grammar: a server answers 400
        CHECK_THAT(error.what(), matchers::contains("no token is left to choose"));
    }
}
