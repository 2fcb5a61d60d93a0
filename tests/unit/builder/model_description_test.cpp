#include <lamina/transformer.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include "model/model.hpp"
#include "model/safetensors.hpp"

#include <functional>
#include <set>

using namespace lamina;
namespace fs = std::filesystem;

namespace {

ModelDescription small_model(uint64_t seed = 0) {
    return build(DecoderOnly{.embedding = {.d_model = 4, .vocabulary = 2},
                             .decoder = {.layer = {.d_model = 4, .heads = 1, .ffn = 4}, .layers = 1},
                             .generator = {.d_model = 4, .vocabulary = 2}},
                 {.name = "small", .seed = seed, .text = TextVocabularies{.target = {"<s>", "</s>"}}});
}

std::set<std::string> names_in(const fs::path &folder) {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

} // namespace

TEST_CASE("model description: saving writes three kinds of files, and nothing else") {
    const TemporaryFolder folder;
    const ModelDescription model = small_model();
    for (const char *name : {"new", "deep/er", "with-slash/"}) {
        INFO(name);
        model.save(folder.path() / name);
        CHECK(names_in(folder.path() / name) == std::set<std::string>{"model.json", "model.safetensors", "target.txt"});
    }
    CHECK(names_in(folder.path()) == std::set<std::string>{"new", "deep", "with-slash"});
    CHECK(folder.read("new/model.json") == model.json);
    CHECK(folder.read("new/target.txt") == "<s>\n</s>\n");
    const auto weights = model::open_safetensors(folder.path() / "new" / "model.safetensors").weights;
    CHECK(weights.entries().size() == model.weights.size());
}

TEST_CASE("model description: an empty folder is filled, one that is not empty is left alone unless asked") {
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "model");
    small_model().save(folder.path() / "model");
    folder.write("model/notes.txt", "mine");
    const std::string before = folder.read("model/model.safetensors");

    CHECK_THAT(message_of([&] { small_model(1).save(folder.path() / "model"); }),
               matchers::contains("not empty; choose another folder, empty this one, or have save()"));
    CHECK(folder.read("model/model.safetensors") == before);

    small_model(1).save(folder.path() / "model", true);
    CHECK(folder.read("model/model.safetensors") != before);
    CHECK(folder.read("model/notes.txt") == "mine");
    CHECK(names_in(folder.path()) == std::set<std::string>{"model"});
}

TEST_CASE("model description: an empty folder that is a current directory is filled, not replaced") {
    const TemporaryFolder folder;
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    small_model().save(".");
    const std::set<std::string> found = names_in(".");
    fs::current_path(before);
    CHECK(found == std::set<std::string>{"model.json", "model.safetensors", "target.txt"});
}

TEST_CASE("model description: a failed write leaves nothing behind") {
    const TemporaryFolder folder;
    folder.write("file", "");
    CHECK_THAT(message_of([&] { small_model().save(folder.path() / "file"); }),
               matchers::contains("a file of that name"));
    CHECK_THAT(message_of([&] { small_model().save(folder.path() / "file" / "model"); }),
               matchers::contains("cannot be written: Not a directory"));
    ModelDescription outside = small_model();
    outside.vocabularies["../escaped.txt"] = "a\n";
    CHECK_THAT(message_of([&] { outside.save(folder.path() / "model"); }),
               matchers::contains("vocabulary '../escaped.txt': expected the name of a file"));
    CHECK(names_in(folder.path()) == std::set<std::string>{"file"});
}

TEST_CASE("model description: progress counts every weight that is saved, and may stop it by throwing") {
    const TemporaryFolder folder;
    const ModelDescription model = small_model();
    size_t calls = 0;
    model.save(folder.path() / "model", false, [&](size_t done, size_t all) {
        CHECK(done == ++calls);
        CHECK(all == model.weights.size());
    });
    CHECK(calls == model.weights.size());

    struct Stop {};
    const auto stop = [](size_t done, size_t) {
        if (done == 2) throw Stop();
    };
    const std::string before = folder.read("model/model.safetensors");
    CHECK_THROWS_AS(small_model(1).save(folder.path() / "new", false, stop), Stop);
    CHECK_THROWS_AS(small_model(1).save(folder.path() / "deep" / "er", false, stop), Stop);
    CHECK_THROWS_AS(small_model(1).save(folder.path() / "model", true, stop), Stop);
    CHECK(names_in(folder.path()) == std::set<std::string>{"model"});
    CHECK(folder.read("model/model.safetensors") == before);
}

TEST_CASE("model description: a model is parsed from memory as from a folder, and reads no file") {
    const ModelDescription built = small_model();
    const auto parsed = model::Model::parse(built.json, model::Weights::of(built.weights), built.vocabularies, "m");
    CHECK(parsed->name == "small");
    CHECK(parsed->generation->target->size() == 2);
    CHECK(parsed->generation->max_length == 64);

    const auto parse = [&](const std::string &json, const auto &vocabularies) {
        return message_of([&] { (void)model::Model::parse(json, {}, vocabularies, "m"); });
    };
    const std::map<std::string, std::string, std::less<>> none;
    CHECK(parse(built.json, none) == "m: no file 'target.txt' was given");
    CHECK_THAT(parse("{}", none), matchers::contains((fs::path("m") / "model.json").string() + ": "));
    CHECK_THAT(parse(built.json, std::map<std::string, std::string, std::less<>>{{"target.txt", "a\na\n"}}),
               matchers::contains((fs::path("m") / "target.txt").string() + ": line 2: 'a' is already in line 1"));
}
