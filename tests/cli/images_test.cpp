// lamina run, and what else takes a model, with image files.
#include "catch.hpp"
#include "places.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace {

const std::filesystem::path image_folder = std::filesystem::path(LAMINA_SOURCE_DIR) / "tests" / "architectures";
const std::string photo = (image_folder / "images" / "files" / "photo.png").string(),
                  turned = (image_folder / "images" / "files" / "turned_6.jpg").string();

std::string image_model(const TemporaryFolder &folder, const std::string &name) {
    const auto options = std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy(image_folder / "models" / name, folder.path() / name, options);
    std::filesystem::copy(image_folder / "images" / name, folder.path() / name, options);
    return (folder.path() / name).string();
}

Finished run_images(std::vector<std::string> arguments, const Surroundings &how = {}) {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--device", "cpu", "--quiet"});
    return run_lamina(arguments, how);
}

} // namespace

TEST_CASE("run classifies image files: several, named on stdin, as JSON") {
    const TemporaryFolder folder;
    const std::string vit = image_model(folder, "vit");
    const Finished two = run_images({vit, photo, turned});
    CHECK(two.status == 0);
    CHECK_THAT(two.out,
               matchers::contains("IMAGE") && matchers::contains("LABEL_2 0.8") && matchers::contains("LABEL_2 0.9"));
    const nlohmann::json answers = nlohmann::json::parse(run_images({vit, photo, turned, "--json"}).out);
    CHECK(answers.at(0).at("image") == photo);
    CHECK(answers.at(1).at("labels").size() == 5);
    const Finished lines = run_images({vit, "--json", "--on-error", "skip"},
                                      {.input = photo + "\nabsent.png\n" + vit + "/config.json\n" + turned + "\n"});
    CHECK(lines.status == 3);
    CHECK_THAT(lines.err, matchers::contains("line 2: absent.png: No such file") && matchers::contains("line 3") &&
                              matchers::contains("PNG, JPEG or WebP"));
    const nlohmann::json found = nlohmann::json::parse(lines.out);
    REQUIRE(found.size() == 4);
    CHECK(found.at(0) == answers.at(0));
    CHECK(found.at(1).contains("error"));
    CHECK(found.at(3) == answers.at(1));
    CHECK(run_images({vit, photo, "absent.png"}).status == 3);
    CHECK(run_images({vit}, {.input = photo + "\nabsent.png\n"}).status == 3);
}

TEST_CASE("run compares images with texts, and with labels") {
    const TemporaryFolder folder;
    const std::string clip = image_model(folder, "clip"), file = (folder.path() / "vectors.npy").string();
    const Finished both = run_images({clip, photo, "w7 w9", "-o", "embedding=" + file});
    CHECK(both.status == 0);
    CHECK_THAT(both.out, matchers::contains("IMAGE OR TEXT") && matchers::contains("COSINE"));
    CHECK(std::filesystem::file_size(file) > 2 * 28 * 4);
    const nlohmann::json vectors = nlohmann::json::parse(run_images({clip, "w7 w9", photo, "--json"}).out);
    CHECK(vectors.at(0).at("text") == "w7 w9");
    CHECK(vectors.at(1).at("embedding").size() == 28);
    CHECK_THAT(run_images({clip, "w7 w9"}).out, matchers::contains("TEXT"));
    CHECK_THAT(run_images({clip, "what is w7.png"}).out, matchers::contains("TEXT")); // a sentence
    CHECK_THAT(run_images({clip, "w7.gif"}).err, matchers::contains("w7.gif: No such file"));
    const std::string too_long = "w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7 w7"; // which is no file's fault
    const Finished refused = run_images({clip, "--labels", too_long, "--on-error", "skip"}, {.input = photo + "\n"});
    CHECK(refused.status == 3);
    CHECK_THAT(refused.err, matchers::contains("text 1: ") && !matchers::contains("line 1"));
    CHECK_THAT(run_images({clip, "w7.png"}).err, matchers::contains("w7.png: No such file"));
    const nlohmann::json labels =
        nlohmann::json::parse(run_images({clip, "--labels", "w7 w9, w30", "--json"}, {.input = photo + "\n"}).out);
    REQUIRE(labels.at(0).at("labels").size() == 2);
    CHECK(labels.at(0).at("labels").at(0).at("label") == "w7 w9");
    const nlohmann::json bare =
        nlohmann::json::parse(run_images({clip, photo, "--labels", "w7 w9, w30", "--sentence", "{}", "--json"}).out);
    CHECK(bare.at(0).at("labels") != labels.at(0).at("labels"));
}

TEST_CASE("options that are not about images, or not about this model, are refused") {
    const TemporaryFolder folder;
    const std::string vit = image_model(folder, "vit"), clip = image_model(folder, "clip");
    const auto refused = [](const std::vector<std::string> &arguments, const std::string &why) {
        const Finished f = run_images(arguments);
        INFO(f.err);
        CHECK(f.status == 2);
        CHECK_THAT(f.err, matchers::contains(why));
    };
    refused({vit, photo, "--labels", "a"}, "this model does not compare images with texts");
    refused({vit, photo, "--max-length", "3"}, "is about generating text");
    refused({vit, photo, "--truncate"}, "is about vectors and classes of texts");
    refused({vit, photo, "-o", "logits=x.npy"}, "need a model that gives vectors of images");
    refused({clip, photo, "--labels", "a,,b"}, "expected labels with commas between them");
    refused({clip, photo, "--labels", "a", "--sentence", "none"}, "expected {} where a label belongs");
    refused({std::string(LAMINA_SOURCE_DIR) + "/models/g2p", photo}, "is the name of an image");
    refused({std::string(LAMINA_SOURCE_DIR) + "/models/g2p", "a", "--labels", "b"}, "is about images");
}

TEST_CASE("inspect, compare, bench and profile take models that take images") {
    const TemporaryFolder folder;
    const std::string vit = image_model(folder, "vit"), clip = image_model(folder, "clip");
    CHECK_THAT(run_lamina({"inspect", clip}).out,
               matchers::contains("sees  12 x 12 pixels") && matchers::contains("compares images with texts"));
    CHECK(nlohmann::json::parse(run_lamina({"inspect", vit, "--json"}).out).at("images").at("labels").size() == 5);
    for (const std::vector<std::string> &given : {std::vector<std::string>{vit}, {vit, photo}, {clip}, {clip, "w7"}}) {
        std::vector<std::string> arguments{"compare", "--device", "cpu"};
        arguments.insert(arguments.end(), given.begin(), given.end());
        const Finished f = run_lamina(arguments);
        INFO(f.err);
        CHECK(f.status == 0);
        CHECK_THAT(f.out, matchers::contains("agree with the reference"));
    }
    CHECK_THAT(run_lamina({"bench", vit, "--rounds", "1", "--batch", "2", "--device", "cpu"}).out,
               matchers::contains("images/s"));
    CHECK_THAT(run_lamina({"profile", vit, photo, "--device", "cpu"}).out, matchers::contains("prepend"));
}
