#include "model_folder.hpp"

#include "catch.hpp"
#include "places.hpp"

#include <initializer_list>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

std::string generation_refusal(const std::string &from, const std::string &to) {
    return message_of([&] { (void)ModelFolder(changed(from, to)).load(); });
}

std::string decoder_only(const std::string &extra = "") {
    return R"({"format": "lamina/1", "name": "m", "graphs": {"decode": {
        "inputs": {"ids": {"dtype": "i32", "dims": "B T"}, "position": {"dtype": "i32", "dims": "B"}},
        "layers": [{"name": "e", "type": "embedding", "inputs": {"ids": "ids"}}], "outputs": {"logits": "e"}}},
        "generation": {"decode": "decode", "target_ids": "ids", "position": "position", "logits": "logits",
        "start": "<s>", "end": "</s>", "max_length": 100000, )" +
           extra + R"("target": {"vocabulary": "phones.txt", "split": "words"}}})";
}

} // namespace

TEST_CASE("generation: the block is read, and its vocabularies with it") {
    const auto model = ModelFolder().load();
    REQUIRE(model->generation.has_value());
    const Generation &g = *model->generation;
    CHECK(g.encode == "encode");
    CHECK(g.source_ids == "letters");
    CHECK(g.source_lengths == "lengths");
    CHECK(g.encoded == std::vector<std::string>{"memory"}); // an output of encode, an input of decode
    CHECK(g.target_ids == "phones");
    CHECK(g.scores == "logits");
    CHECK_FALSE(g.probabilities);
    CHECK(g.max_length == 8);
    CHECK((g.source->split() == TextCodec::Split::characters && g.source->lowercase()));
    CHECK((g.target->split() == TextCodec::Split::words && !g.target->lowercase()));
    CHECK(g.source->size() == 2);
}

TEST_CASE("generation: tokens are given in the block, or as ids") {
    const OutputTokens plain = ModelFolder().load()->tokens;
    CHECK(plain.start == std::vector<std::vector<int32_t>>{{0}});
    CHECK(plain.end == std::vector<int32_t>{1});
    CHECK((plain.suppress.empty() && plain.begin_suppress.empty()));

    const auto with = [](const std::string &tokens) {
        return ModelFolder(changed("\"generation\": {", "\"tokens\": " + tokens + ", \"generation\": {"))
            .load()
            ->tokens;
    };
    const OutputTokens own =
        with(R"({"start": [2, [0, 1]], "end": [1, 2], "suppress": [0], "begin_suppress": [2147483647]})");
    CHECK(own.start == std::vector<std::vector<int32_t>>{{2}, {0, 1}});
    CHECK(own.end == std::vector<int32_t>{1, 2});
    CHECK(own.suppress == std::vector<int32_t>{0});
    CHECK(own.begin_suppress == std::vector<int32_t>{2147483647});

    CHECK_THAT(message_of([&] { (void)with(R"({"start": [[]]})"); }), contains("/tokens/start/0: expected an id"));
    CHECK_THAT(message_of([&] { (void)with(R"({"end": [-1]})"); }), contains("/tokens/end/0"));
    CHECK_THAT(message_of([&] { (void)with(R"({"suppressed": []})"); }), contains("did you mean 'suppress'?"));
}

TEST_CASE("generation: tokens that a caller chooses are of the start, or of the source") {
    const auto with = [](const std::string &choice) {
        return ModelFolder(changed("\"generation\": {", R"("tokens": {"start": [0, 2], "choices": {"language": )" +
                                                            choice + "}}, \"generation\": {"))
            .load()
            ->tokens.choices.at("language");
    };
    using At = TokenChoice::At;
    const TokenChoice placed = with(R"({"place": 2, "ids": {"en": 1}})");
    CHECK((placed.at == At::output && placed.place == 2 && placed.ids.at("en") == 1));
    CHECK(with(R"({"source": "begin", "ids": {}})").at == At::source_begin);
    CHECK(with(R"({"source": "end", "ids": {}})").at == At::source_end);
    for (const auto &[choice, why] : std::initializer_list<std::pair<const char *, const char *>>{
             {R"({"place": 3, "ids": {}})", "/tokens/choices/language/place: expected a whole number from 0 to 2"},
             {R"({"ids": {}})", "/tokens/choices/language: "},
             {R"({"place": 0})", "/tokens/choices/language: "},
             {R"({"source": "start", "ids": {}})", R"(/source: expected "begin" or "end", found 'start')"},
             {R"({"source": "end", "place": 0, "ids": {}})", "/place: \"source\" says the place"},
             {R"({"place": 0, "ids": {"en": -1}})", "/ids/en"}}) {
        INFO(choice);
        CHECK_THAT(message_of([&] { (void)with(choice); }), contains(why));
    }
}

TEST_CASE("generation: the block is optional") {
    const std::string text = small_model;
    const ModelFolder without(text.substr(0, text.find(",\n  \"generation\"")) + "}");
    CHECK_FALSE(without.load()->generation.has_value());
}

TEST_CASE("generation: decoder-only models leave out everything about the encoder, or nothing") {
    const auto model = ModelFolder(decoder_only()).load();
    CHECK(model->generation->encode.empty());
    CHECK(model->generation->encoded.empty());
    CHECK(model->generation->max_length == 100000);
    CHECK_THAT(
        message_of([] { (void)ModelFolder(decoder_only(R"("source_ids": "m", )")).load(); }),
        contains("/generation: 'source_ids' needs the key 'source_lengths' beside it; other models have neither"));
    CHECK_THAT(generation_refusal("\"source_ids\": \"letters\", ", ""),
               contains("needs the key 'source_ids' beside it"));
}

TEST_CASE("generation: graphs, inputs and outputs must exist") {
    CHECK_THAT(generation_refusal("\"decode\": \"decode\"", "\"decode\": \"decoder\""),
               contains("/generation/decode: no graph 'decoder'; did you mean 'decode'?"));
    CHECK_THAT(generation_refusal("\"target_ids\": \"phones\"", "\"target_ids\": \"phone\""),
               contains("/generation/target_ids: the graph 'decode' has no input 'phone'; did you mean 'phones'?"));
    CHECK_THAT(generation_refusal("\"logits\": \"logits\"", "\"logits\": \"logit\""),
               contains("/generation/logits: the graph 'decode' has no output 'logit'; did you mean 'logits'?"));
    CHECK_THAT(generation_refusal("\"logits\": \"logits\"", "\"logits\": \"logits\", \"probabilities\": \"logits\""),
               contains("/generation: 'logits' and 'probabilities' are both given; decode gives one of them"));
    CHECK_THAT(generation_refusal("{\"memory\": \"norm\"}", "{\"encoded\": \"norm\"}"),
               contains("/generation: no output of the graph 'encode' is named like an input of 'decode'"));
    CHECK_THAT(generation_refusal("\"position\": \"position\", ", ""),
               contains("/generation: the key 'position' is missing"));
    CHECK_THAT(generation_refusal("\"end\": ", "\"ent\": "),
               contains("/generation: unknown key 'ent'; did you mean 'end'?"));
}

TEST_CASE("generation: inputs have the type that generation gives them") {
    CHECK_THAT(
        generation_refusal("\"target_ids\": \"phones\"", "\"target_ids\": \"position\""),
        contains("/generation/target_ids: expected an input of i32 with dims like \"B T\"; 'position' is i32 \"B\""));
    CHECK_THAT(generation_refusal("\"position\": \"position\"", "\"position\": \"memory\""),
               contains("'memory' is f32 \"B S 4\""));
}

TEST_CASE("generation: every input of the graphs gets a value") {
    CHECK_THAT(generation_refusal("\"inputs\": {\"phones\"",
                                  "\"inputs\": {\"mask\": {\"dtype\": \"i32\", \"dims\": \"B\"}, \"phones\""),
               contains("/generation: nothing gives the input 'mask' of the graph 'decode' a value"));
    CHECK_THAT(generation_refusal("\"inputs\": {\"letters\"",
                                  "\"inputs\": {\"mask\": {\"dtype\": \"i32\", \"dims\": \"B\"}, \"letters\""),
               contains("nothing gives the input 'mask' of the graph 'encode' a value"));
}

TEST_CASE("generation: vocabularies must be in the folder and contain start and end") {
    CHECK_THAT(generation_refusal("\"start\": \"<s>\"", "\"start\": \"<S>\""),
               contains("/generation/start: no token '<S>' in phones.txt"));
    CHECK_THAT(generation_refusal("\"end\": \"</s>\"", "\"end\": \"a\""),
               contains("/generation/end: no token 'a' in phones.txt"));
    for (const char *name : {"../phones.txt", "/etc/passwd", "a/b", "", "..", "phones.txt/", "phones\\u0000.txt"}) {
        CAPTURE(name);
        CHECK_THAT(generation_refusal("phones.txt", name),
                   contains("/generation/target/vocabulary: expected the name of a file in the model folder"));
    }
    CHECK_THAT(generation_refusal("phones.txt", "none.txt"), contains("none.txt: No such file"));
    CHECK_THAT(generation_refusal("phones.txt", "."), contains("is a folder; expected a file"));
}

TEST_CASE("generation: codecs and the length are checked") {
    CHECK_THAT(
        generation_refusal("\"words\"", "\"word\""),
        contains(
            "/generation/target/split: expected \"characters\" or \"words\", found 'word'; did you mean 'words'?"));
    CHECK_THAT(generation_refusal("\"lowercase\": true", "\"lowercase\": 1"),
               contains("/generation/source/lowercase: expected true or false, found 1"));
    CHECK_THAT(generation_refusal("\"max_length\": 8", "\"max_length\": 0"),
               contains("/generation/max_length: expected a whole number from 1 to 100000, found 0"));
    CHECK_THAT(generation_refusal("\"max_length\": 8", "\"max_length\": 100001"), contains("found 100001"));
    CHECK_THAT(generation_refusal("\"max_length\": 8", "\"max_length\": 8.0"), contains("found 8.0"));
}

TEST_CASE("generation: the model that ships loads, and its vocabularies fit its tables") {
    const auto model = Model::load(LAMINA_SOURCE_DIR "/models/g2p");
    CHECK(model->graphs.at("encode").nodes.size() == 2 + 4 * 8 + 1 + 4 * 2); // and the keys and values of the source
    CHECK(model->graphs.at("decode").nodes.size() == 2 + 4 * 12 + 3);
    const auto rows = [&](const char *table) {
        return static_cast<size_t>(model->weights.entries().at(table).type.shape[0]);
    };
    CHECK(model->generation->source->size() == rows("encoder.embedding.table"));
    CHECK(model->generation->target->size() == rows("decoder.embedding.table"));
    CHECK(model->generation->target->size() == rows("generator.weight"));
    for (const auto &[name, entry] : model->weights.entries()) { // each belongs to a layer of the graphs
        CAPTURE(name);
        const std::string layer = name.substr(0, name.rfind('.'));
        size_t owners = 0;
        for (const auto &[graph_name, graph] : model->graphs)
            for (const Node &node : graph.nodes) owners += node.name == layer;
        CHECK(owners == 1);
    }
}
