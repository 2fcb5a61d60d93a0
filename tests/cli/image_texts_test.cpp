// lamina run, and what else takes a model, with image files of which a model writes texts.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

using matchers::contains;
using nlohmann::json;

namespace {

const std::filesystem::path tests_of_models = std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "architectures";
const std::string line_image = (tests_of_models / "images" / "files" / "photo.png").string(),
                  gray_image = (tests_of_models / "images" / "files" / "gray.png").string();

std::string text_model(const TemporaryFolder &folder) {
    const auto options = std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy(tests_of_models / "models" / "trocr", folder.path() / "trocr", options);
    std::filesystem::copy(tests_of_models / "image_texts" / "trocr", folder.path() / "trocr", options);
    return (folder.path() / "trocr").string();
}

Finished run_on_cpu(std::vector<std::string> arguments, const Surroundings &how = {}) {
    arguments.insert(arguments.end(), {"--device", "cpu", "--quiet"});
    return run_lamina(arguments, how);
}

} // namespace

TEST_CASE("run writes what image files say: one, several, named on stdin, as JSON") {
    const TemporaryFolder folder;
    const std::string model = text_model(folder);
    const std::string first = line_image + "\tw34 w16 w16\n", second = gray_image + "\tw34 w34 w34\n";
    CHECK(run_on_cpu({"run", model, line_image, "--max-length", "3"}).out == first);
    CHECK(run_on_cpu({"run", model, line_image, gray_image, "--max-length", "3"}).out == first + second);
    const Finished lines = run_on_cpu({"run", model, "--max-length", "3", "--on-error", "skip"},
                                      {.input = line_image + "\nabsent.png\n" + gray_image + "\n"});
    CHECK(lines.status == 3);
    CHECK(lines.out == first + second);
    CHECK_THAT(lines.err, contains("line 2: absent.png: No such file"));
    CHECK(run_on_cpu({"run", model, line_image, "absent.png"}).status == 3);

    const Finished beams = run_on_cpu({"run", model, line_image, gray_image, "--json", "--beams", "3", "--max-length",
                                       "9", "--hypotheses", "2", "--likeliest", "1"});
    const json found = json::parse(beams.out);
    REQUIRE(found.size() == 2);
    CHECK(found[1]["image"] == gray_image);
    CHECK(found[1]["output"] == "w16 w34 w34 w34 w34 w34 w34 w34 w34");
    CHECK(found[1]["hypotheses"].size() == 2);
    CHECK(found[1]["hypotheses"][0]["tokens"].size() == 9);
    CHECK(found[1]["hypotheses"][0]["scores"].size() == 9);
    const json refused = json::parse(run_on_cpu({"run", model, "--json", "--max-length", "3", "--on-error", "skip"},
                                                {.input = "absent.png\n" + gray_image + "\n"})
                                         .out);
    CHECK(refused[0]["image"] == "absent.png");
    CHECK(refused[0].contains("error"));
    CHECK(refused[1]["output"] == "w34 w34 w34");
}

TEST_CASE("run refuses options that have no meaning for texts of images") {
    const TemporaryFolder folder;
    const std::string model = text_model(folder);
    const auto refused = [&](std::vector<std::string> options, const std::string &why) {
        options.insert(options.begin(), {"run", model, line_image});
        const Finished found = run_on_cpu(std::move(options));
        CHECK(found.status == 2);
        CHECK_THAT(found.err, contains(why));
    };
    refused({"--labels", "a"}, "is about images and classes of texts, which this model does not give");
    refused({"--pairs"}, "is about vectors and classes of texts");
    refused({"--timestamps", "words"}, "is about audio, which this model does not take");
    refused({"--json", "--likeliest", "1", "--prompt-scores"}, "needs a model that continues texts");
    refused({"--image", line_image}, "takes no images in prompts");
    CHECK_THAT(run_on_cpu({"chat", model, "hello"}).err, contains("it turns images into texts"));
}

TEST_CASE("inspect, compare, convert, bench and profile take a model that writes what images say") {
    const TemporaryFolder folder;
    const std::string model = text_model(folder), converted = (folder.path() / "converted").string();
    CHECK_THAT(run_lamina({"inspect", model}).out,
               contains("reads  images") && contains("sees  20 x 12 pixels\n  gives texts\n"));
    const json contents = json::parse(run_lamina({"inspect", model, "--json"}).out);
    CHECK(contents["images"]["gives"] == "texts");
    CHECK(contents["generation"]["source"] == json{{"height", 12}, {"width", 20}});
    const Finished compared = run_on_cpu({"compare", model});
    CHECK(compared.status == 0);
    CHECK_THAT(compared.out, contains("decoder.output_projection") && contains("encoder.layernorm"));
    CHECK(run_on_cpu({"compare", model, gray_image}).status == 0);
    CHECK(run_lamina({"convert", model, converted}).status == 0);
    CHECK(run_on_cpu({"run", converted, line_image, "--max-length", "3"}).out == line_image + "\tw34 w16 w16\n");
    CHECK_THAT(run_on_cpu({"bench", model, "--rounds", "1", "--batch", "2", "--tokens", "5"}).out,
               contains("images at once") && contains("tokens in texts") && contains(" 10 "));
    CHECK_THAT(run_on_cpu({"profile", model, line_image}).out, contains("encode") && contains("decode"));
}
