// lamina run of models that read pages.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

using matchers::contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path pages = fs::path(LAMINA_SOURCE_DIR) / "tests" / "architectures" / "pages";
const std::string image = (pages / "page.png").string();

Finished run_pages(const std::string &model, const std::vector<std::string> &more, const std::string &input = "") {
    std::vector<std::string> all{"run", (pages / model).string(), "--device", "cpu"};
    all.insert(all.end(), more.begin(), more.end());
    return run_lamina(all, {.input = input});
}

} // namespace

TEST_CASE("pages: the words of an image are in the file beside it, or in one that is named") {
    const TemporaryFolder folder;
    fs::copy_file(pages / "page.tsv", folder.path() / "other.tsv");
    const Finished beside = run_pages("words", {image}),
                   named = run_pages("words", {image, "--words", (folder.path() / "other.tsv").string()});
    CHECK(beside.status == 0);
    CHECK(beside.out == named.out);
    const auto lines = lines_of(beside.out);
    REQUIRE(lines.size() > 40);
    CHECK_THAT(lines[0], contains("WORD") && contains("BOX") && contains("CLASS"));
    CHECK_THAT(lines[1], contains("Invoice  35 31 245 87     B-DATE 0."));

    const Finished missing = run_pages("words", {(folder.path() / "scan.png").string()});
    CHECK(missing.status == 3);
    CHECK_THAT(missing.err, contains("scan.tsv: no such file") && contains("tesseract") && contains("--words"));
}

TEST_CASE("pages: several are told apart, and one that cannot be read is skipped if asked for") {
    const Finished both = run_pages("classes", {image, image, "--truncate", "--json"});
    REQUIRE(both.status == 0);
    const json found = json::parse(both.out);
    REQUIRE(found.size() == 2);
    CHECK(found[0]["page"] == image);
    CHECK(found[0] == found[1]);
    CHECK(found[0]["labels"].size() == 3);
    const Finished lines = run_pages("words", {"--on-error", "skip"}, image + "\nnone.png\n");
    CHECK(lines.status == 3);
    CHECK_THAT(lines.err, contains("line 2: none.tsv: no such file") && contains("skipped 1 of 2"));
    CHECK_THAT(lines_of(lines.out)[1], contains("page.png") && contains("Invoice"));
    CHECK_THAT(run_pages("words", {image, image, "--words", "a.tsv"}).err, contains("expected one file for each page"));
}

TEST_CASE("pages: questions are answered in order") {
    const Finished f = run_pages(
        "answers", {image, "--question", "What is the total?", "--question", "dog", "--answers", "2", "--json"});
    REQUIRE(f.status == 0);
    const json found = json::parse(f.out);
    REQUIRE(found.size() == 2);
    CHECK(found[0]["question"] == "What is the total?");
    CHECK(found[1]["question"] == "dog");
    REQUIRE(found[0]["answers"].size() == 2);
    CHECK(found[0]["answers"][0]["score"].get<double>() > found[0]["answers"][1]["score"].get<double>());
}

TEST_CASE("pages: options that change nothing are refused, and messages name the file") {
    CHECK_THAT(run_pages("answers", {image}).err, contains("expected --question TEXT"));
    CHECK_THAT(run_pages("answers", {image, "--question", "dog", "--answers", "0"}).err,
               contains("--answers: expected"));
    CHECK_THAT(run_pages("words", {image, "--question", "dog"}).err, contains("--question is about answers"));
    CHECK_THAT(run_pages("words", {image, "--truncate"}).err, contains("--truncate is about classes of pages"));
    CHECK_THAT(run_pages("words", {image, "--beams", "2"}).err, contains("--beams is about generating text"));
    CHECK_THAT(run_pages("words", {"--words", "a.tsv"}, image).err, contains("--words needs the names of pages"));
    CHECK_THAT(run_pages("classes", {image}).err, contains("page.png: 156 tokens; expected at most 64"));
    CHECK_THAT(run_lamina({"run", g2p(), "word", "--words", "a.tsv"}).err, contains("--words is about pages"));
    CHECK_THAT(run_lamina({"inspect", (pages / "words").string()}).out,
               contains("pages") && contains("token_classes: logits") && contains("20 x 20 pixels"));
    CHECK(run_lamina({"bench", (pages / "answers").string(), "--device", "cpu", "--rounds", "1"}).status == 0);
    CHECK_THAT(
        run_lamina({"bench", (pages / "words").string(), "--text", image, "--device", "cpu", "--rounds", "1"}).out,
        contains("pages/s"));
}
