// Pages, compared with transformers: their words, their classes, and answers to questions. pages/make.py wrote the
// models and the page.
#include "catch.hpp"
#include "folders.hpp"

#include <lamina/convert.hpp>
#include <lamina/page.hpp>
#include <lamina/proof.hpp>

#include <algorithm>
#include <fstream>
#include <functional>

using namespace lamina;
using matchers::contains;
using nlohmann::json;
using test::json_of;
using test::runtime;
using test::session_of;
namespace fs = std::filesystem;

namespace {

const fs::path page_folders = test::architectures / "pages";

Page page_of_files(const char *image = "small.png") {
    return {read_page_words(page_folders / "page.tsv"), read_image(page_folders / image)};
}

// Of images that are resized, pixels may differ by a step.
constexpr double exact = 1e-5, resized = 5e-3;

void check_labels(const std::vector<LabelScore> &found, const json &wanted, double tolerance) {
    REQUIRE(found.size() == wanted.size());
    CHECK(std::ranges::is_sorted(found, std::ranges::greater{}, &LabelScore::score));
    for (const LabelScore &each : found)
        CHECK_THAT(each.score, matchers::within_abs(wanted[each.label].get<double>(), tolerance));
}

void check_words(const std::vector<WordLabels> &found, const json &wanted, double tolerance) {
    REQUIRE(found.size() == wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
        INFO("word " << i);
        CHECK(found[i].word == wanted[i]["word"].get<size_t>());
        check_labels(found[i].labels, wanted[i]["scores"], tolerance);
    }
}

// The model as it is, and converted.
std::vector<fs::path> both(const std::string &name, const TemporaryFolder &folder) {
    convert(runtime(), page_folders / name, {}).model.save(folder.path() / name);
    return {page_folders / name, folder.path() / name};
}

std::string refusal_of_words(const std::string &table) {
    const TemporaryFolder folder;
    folder.write("page.tsv", table);
    return message_of([&] { (void)read_page_words(folder.path() / "page.tsv"); });
}

} // namespace

TEST_CASE("pages: words and boxes are those of a table of Tesseract") {
    const json expected = json_of(page_folders / "expected.json");
    const std::vector<PageWord> words = read_page_words(page_folders / "page.tsv");
    REQUIRE(words.size() == expected["texts"].size());
    CHECK(
        refusal_of_words("level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
                         "\n1\t3\t0\t0\t0\t0\t0\t0\t2\t2\t-1\t\n")
            .empty()); // the third page of a document
    for (size_t i = 0; i < words.size(); ++i) {
        CHECK(words[i].text == expected["texts"][i].get<std::string>());
        CHECK(words[i].box == expected["boxes"][i].get<std::array<int32_t, 4>>());
    }
}

TEST_CASE("pages: what is not a table of words is refused with its line") {
    const std::string head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\t"
                             "text\n",
                      size = "1\t1\t0\t0\t0\t0\t0\t0\t200\t100\t-1\t\n", word = "5\t1\t1\t1\t1\t1\t";
    CHECK(refusal_of_words(head + size).empty());
    CHECK(refusal_of_words(head + size + word + "0\t0\t200\t100\t96\tdog\r\n").empty());
    CHECK_THAT(refusal_of_words(""), contains("page.tsv: expected a table of words"));
    CHECK_THAT(refusal_of_words("words\n"), contains("expected a table of words"));
    CHECK_THAT(refusal_of_words(head + size + word + "0\t0\t2\t1\t96\t\xff\n"),
               contains("line 3: ") && contains("is not valid UTF-8"));
    CHECK(refusal_of_words("\xef\xbb\xbf" + head + size).empty());
    CHECK_THAT(refusal_of_words(head + "1\t1\n"), contains("line 2: expected 12 columns"));
    CHECK_THAT(refusal_of_words(head + word + "0\t0\t2\t1\t96\tdog\n"), contains("line 2: a word comes before"));
    CHECK_THAT(refusal_of_words(head + size + word + "-1\t0\t2\t1\t96\tdog\n"),
               contains("line 3: left: ") && contains("'-1'"));
    CHECK_THAT(refusal_of_words(head + size + word + "0\t0\tx\t1\t96\tdog\n"), contains("width: ") && contains("'x'"));
    CHECK_THAT(refusal_of_words(head + size + word + "0\t0\t99999999999\t1\t96\tdog\n"), contains("width: "));
    CHECK_THAT(refusal_of_words(head + size + word + "199\t0\t2\t1\t96\tdog\n"), contains("'dog' reaches to 201, 1"));
    CHECK_THAT(refusal_of_words(head + size + word + "2147483647\t0\t2147483647\t1\t96\tdog\n"),
               contains("reaches to"));
    CHECK_THAT(refusal_of_words(head + size + "1\t2\t0\t0\t0\t0\t0\t0\t200\t100\t-1\t\n"),
               contains("found pages 1 and 2"));
}

TEST_CASE("pages: classes of words are those of transformers, also in parts, many at once, and after conversion") {
    const json expected = json_of(page_folders / "expected.json");
    const Page whole = page_of_files("page.png");
    Page half = whole; // fits the model
    half.words.resize(5);
    for (const auto &[name, tolerance] : {std::pair{"words", resized}, {"unseeing", exact}}) {
        const TemporaryFolder folder;
        for (const fs::path &path : both(name, folder)) {
            Session session = session_of(path);
            size_t done = 0;
            const auto found = label_words(session, {half, whole, whole},
                                           {.batch = 3, .progress = [&](size_t some, size_t) { done = some; }});
            REQUIRE(found.size() == 3);
            check_words(found[1], expected[name], tolerance);
            check_words(found[2], expected[name], tolerance);
            CHECK(found[0].size() == half.words.size());
            CHECK(done > 5); // parts
        }
    }
}

TEST_CASE("pages: classes are those of transformers, of a page that is cut") {
    const json expected = json_of(page_folders / "expected.json");
    const TemporaryFolder folder;
    for (const fs::path &path : both("classes", folder)) {
        Session session = session_of(path);
        check_labels(classify_pages(session, {page_of_files()}, {.truncate = true}).front(), expected["classes"],
                     exact);
        CHECK_THROWS_WITH(classify_pages(session, {page_of_files()}), contains("page 1: ") && contains("at most 64"));
    }
}

TEST_CASE("pages: answers are those of transformers") {
    const json expected = json_of(page_folders / "expected.json");
    const TemporaryFolder folder;
    std::vector<PageQuestion> questions;
    for (const json &question : expected["questions"]) questions.push_back({1, question});
    for (const fs::path &path : both("answers", folder)) {
        Session session = session_of(path);
        const auto found =
            answer_pages(session, {{{{"dog"}}, page_of_files().image}, page_of_files()}, questions, {.best = 3});
        REQUIRE(found.size() == questions.size());
        for (size_t q = 0; q < found.size(); ++q) {
            REQUIRE(found[q].size() == 3);
            for (size_t i = 0; i < found[q].size(); ++i) {
                const json &wanted = expected["answers"][q][i];
                CHECK(found[q][i].text == wanted["text"].get<std::string>());
                CHECK(found[q][i].first == wanted["first"].get<size_t>());
                CHECK(found[q][i].last == wanted["last"].get<size_t>());
                CHECK_THAT(found[q][i].score, matchers::within_abs(wanted["score"].get<double>(), exact));
            }
        }
    }
}

TEST_CASE("pages: what is wrong with one is said with its number") {
    Session words = session_of(page_folders / "words"), answers = session_of(page_folders / "answers");
    const Page good = page_of_files();
    const auto refusal = [&](const Page &bad) { return message_of([&] { (void)label_words(words, {good, bad}); }); };
    Page bad = good;
    bad.words.clear();
    CHECK_THAT(refusal(bad), contains("page 2: expected words, found none"));
    bad.words = {{""}};
    CHECK_THAT(refusal(bad), contains("page 2: its words have no tokens"));
    bad.words = {{"dog", {0, 0, 1000, 1001}}};
    CHECK_THAT(refusal(bad), contains("page 2: word 1: ") && contains("1001"));
    bad.words = {{"\xff", {}}};
    CHECK_THAT(refusal(bad), contains("page 2: ") && contains("UTF-8"));
    bad = good, bad.image = {};
    CHECK_THAT(refusal(bad), contains("page 2: expected an image"));
    bad.image = {3, 3, {1, 2, 3}};
    CHECK_THAT(refusal(bad), contains("image 2: expected 3 values for each of 3 x 3"));
    CHECK_THROWS_WITH(classify_pages(words, {good}),
                      contains("does not give classes of pages but the output 'logits'"));
    CHECK_THROWS_WITH(embed(words, {"dog"}), contains("reads pages"));
    CHECK(label_words(words, {}).empty());

    const auto asked = [&](const PageQuestion &question, const PageOptions &options = {}) {
        return message_of([&] { (void)answer_pages(answers, {good}, {question}, options); });
    };
    CHECK(asked({0, "dog"}).empty());
    CHECK_THAT(asked({1, "dog"}), contains("question 1: expected a page below 1, found 1"));
    CHECK_THAT(asked({0, " \n"}), contains("question 1: expected a text that is not empty"));
    CHECK_THAT(asked({0, "\xff"}), contains("question 1: ") && contains("UTF-8"));
    std::string endless = "dog";
    for (int i = 0; i < 80; ++i) endless += " dog";
    CHECK_THAT(asked({0, endless}), contains("leave no room for words"));
    CHECK_THAT(asked({0, "dog"}, {.best = 0}), contains("best: expected at least 1"));
    CHECK_THAT(asked({0, "dog"}, {.longest = 0}), contains("longest: expected at least 1"));
}

TEST_CASE("pages: folders of every age are read alike") {
    const json expected = json_of(page_folders / "expected.json")["words"];
    const Page page = page_of_files("page.png");
    const auto check = [&](const std::function<void(const TemporaryFolder &)> &change) {
        const TemporaryFolder folder;
        fs::copy(page_folders / "words", folder.path(), fs::copy_options::recursive);
        change(folder);
        Session session = session_of(folder.path());
        check_words(label_words(session, {page}).front(), expected, resized);
    };
    const json longest{{"model_max_length", 64}};
    const auto in_two_files = [&](const TemporaryFolder &folder, const json &config) {
        fs::remove(folder.path() / "tokenizer.json");
        for (const char *file : {"vocab.json", "merges.txt"})
            fs::copy_file(test::architectures / "tokenizers" / "roberta" / file, folder.path() / file);
        folder.write("tokenizer_config.json", config.dump());
    };
    check([&](const TemporaryFolder &folder) { in_two_files(folder, longest); });
    check([&](const TemporaryFolder &folder) {
        json named = longest;
        named["tokenizer_class"] = "LayoutLMv3Tokenizer";
        in_two_files(folder, named);
    });
    const json halves{0.5, 0.5, 0.5};
    const json older{
        {"apply_ocr", true},    {"do_normalize", true}, {"do_resize", true},
        {"image_mean", halves}, {"image_std", halves},  {"feature_extractor_type", "LayoutLMv3FeatureExtractor"},
        {"ocr_lang", nullptr},  {"resample", 2},        {"size", 20}};
    for (const bool both_names : {false, true})
        check([&](const TemporaryFolder &folder) {
            fs::remove(folder.path() / "processor_config.json");
            json config = older;
            if (both_names) {
                config["image_processor_type"] = "LayoutLMv3ImageProcessor";
                config["size"] = json{{"height", 20}, {"width", 20}};
                config["_valid_processor_keys"] = json{"images", "do_resize"};
            }
            folder.write("preprocessor_config.json", config.dump());
        });
}

TEST_CASE("pages: a text begins with a space if its class and tokenizer_config.json say so, as in transformers") {
    using ordered = nlohmann::ordered_json; // with the model last, as files are written; of json, steps come after it
    const ordered written = ordered::parse(std::ifstream(page_folders / "words" / "tokenizer.json"));
    const json cases = json_of(page_folders / "expected.json")["prefixes"];
    CHECK(cases.size() == 42);
    for (const json &each : cases)
        for (const bool model_last : {true, false}) {
            INFO(each.dump() << model_last);
            const TemporaryFolder folder;
            fs::copy(page_folders / "words", folder.path(), fs::copy_options::recursive);
            ordered tokenizer = written;
            for (const char *part : {"pre_tokenizer", "post_processor"})
                tokenizer[part]["add_prefix_space"] = each[1].get<bool>();
            json config{{"tokenizer_class", each[0]}};
            if (!each[2].is_null()) config["add_prefix_space"] = each[2];
            folder.write("tokenizer.json", model_last ? tokenizer.dump() : json::parse(tokenizer.dump()).dump());
            folder.write("tokenizer_config.json", config.dump());
            CHECK(token_ids(runtime().load(folder.path()), "dog", false) == each[3].get<std::vector<int32_t>>());
        }
}

TEST_CASE("pages: a tokenizer takes words one by one, as Hugging Face's does") {
    const json expected = json_of(page_folders / "expected.json")["split_words"];
    const Tokenizer tokenizer = Tokenizer::load(page_folders / "words");
    const auto lists = expected[0].get<std::vector<std::vector<std::string>>>();
    std::vector<Encoding> found;
    for (const auto &words : lists) found.push_back(tokenizer.encode_words(words));
    for (const auto &first : lists)
        for (const auto &second : lists) found.push_back(tokenizer.encode_words(first, second));
    REQUIRE(found.size() == expected[1].size());
    for (size_t i = 0; i < found.size(); ++i) {
        INFO("case " << i);
        CHECK(json(found[i].ids) == expected[1][i][0]);
        CHECK(json(found[i].words) == expected[1][i][1]);
    }
}

TEST_CASE("pages: tokenizers and blocks that do not fit are refused") {
    const json written = json_of(page_folders / "answers" / "tokenizer.json");
    const auto id = [](const char *which) { return json{{"Sequence", {{"id", which}, {"type_id", 0}}}}; };
    const json start{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
    for (const json &pair : {json{start, id("B"), start, id("A")}, json{start, id("A"), id("A"), id("B")},
                             json{start, id("B")}, json{start, id("A")}}) {
        const TemporaryFolder folder;
        fs::copy(page_folders / "answers", folder.path(), fs::copy_options::recursive);
        json tokenizer = written;
        tokenizer["post_processor"] = {
            {"type", "TemplateProcessing"},
            {"single", {start, id("A")}},
            {"pair", pair},
            {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}}}}}};
        folder.write("tokenizer.json", tokenizer.dump());
        folder.write("tokenizer_config.json", "{}");
        Session session = session_of(folder.path());
        std::string question;
        for (int i = 0; i < 20; ++i) question += "dog ";
        const Page page{{PageWord{"dog"}}, page_of_files().image};
        INFO(pair.dump());
        CHECK_THROWS_WITH(answer_pages(session, {page}, {{0, question}}),
                          contains("does not put a question before its text"));
    }

    const TemporaryFolder folder;
    convert(runtime(), page_folders / "words", {}).model.save(folder.path() / "model");
    const json model = json_of(folder.path() / "model" / "model.json");
    const auto refusal = [&](const std::function<void(json &)> &change) {
        json changed = model;
        change(changed["pages"]);
        std::ofstream(folder.path() / "model" / "model.json") << changed.dump();
        return message_of([&] { (void)runtime().load(folder.path() / "model"); });
    };
    CHECK(refusal([](json &) {}).empty());
    CHECK_THAT(refusal([](json &p) { p["boxes"] = "patches"; }), contains("/pages/boxes"));
    CHECK_THAT(refusal([](json &p) { p.erase("image"); }), contains("/pages/reading") && contains("'patches'"));
    CHECK_THAT(refusal([](json &p) { p["image"]["size"] = {10, 20}; }), contains("/pages/image/resize"));
    CHECK_THAT(refusal([](json &p) { p["image"]["place"] = 1; }), contains("/pages/image: unknown key 'place'"));
    CHECK_THAT(refusal([](json &p) {
                   p["reading"]["prompts"] = {{"query", "q"}};
               }),
               contains("/pages/reading/prompts"));
    CHECK_THAT(refusal([](json &p) { p["reading"]["labels"] = {"one"}; }), contains("/pages/reading/labels"));
    CHECK_THAT(refusal([](json &p) {
                   p["reading"].erase("token_classes");
                   p["reading"]["embedding"] = "logits";
               }),
               contains("/pages/reading") && contains("answers"));
}

TEST_CASE("pages: a comparison makes up pages of its own, and inspect() says what a model reads") {
    const Model model = runtime().load(page_folders / "words");
    const Comparison comparison = compare(runtime(), model, runtime().device("cpu"));
    CHECK(comparison.agrees());
    CHECK(comparison.layers.size() > 10);
    const ModelContents contents = inspect(model), unseeing = inspect(runtime().load(page_folders / "unseeing"));
    REQUIRE(contents.pages);
    CHECK(contents.pages->gives == TextReading::Gives::token_classes);
    CHECK(contents.pages->labels == std::vector<std::string>{"O", "B-TOTAL", "B-DATE"});
    CHECK(contents.pages->longest == 64);
    CHECK(contents.pages->sees);
    CHECK(contents.pages->height == 20);
    REQUIRE(unseeing.pages);
    CHECK_FALSE(unseeing.pages->sees);
    CHECK_FALSE(contents.reading);
    CHECK_FALSE(contents.images);
}
