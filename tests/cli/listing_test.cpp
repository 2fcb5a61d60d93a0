#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <set>

using nlohmann::json;

TEST_CASE("plugins: every built-in layer is listed with its file") {
    const Finished text = run_lamina({"plugins"}), data = run_lamina({"plugins", "--json"});
    REQUIRE(data.status == 0);
    const json plugins = json::parse(data.out);
    CHECK(plugins["rejected"].empty());
    CHECK(plugins["executor"]["id"] == "cpu_fallback");
    for (const char *id : {"attention", "embedding", "feed_forward", "layer_norm", "linear", "positional_encoding"}) {
        CHECK_THAT(text.out, matchers::contains(std::string("\n") + id + " "));
        CHECK_THAT(data.out, matchers::contains(std::string("lamina_") + id + ".so"));
    }
}

TEST_CASE("plugins: a library that is not a plugin is listed with the reason, and the others still work") {
    const TemporaryFolder folder;
    folder.write("lamina_broken.so", "this is no library");
    const Finished f = run_lamina({"plugins", "--json", "--plugin-dir", folder.path()});
    REQUIRE(f.status == 0);
    const json plugins = json::parse(f.out);
    REQUIRE(plugins["rejected"].size() == 1);
    CHECK_THAT(plugins["rejected"][0]["path"].get<std::string>(), matchers::contains("lamina_broken.so"));
    CHECK_FALSE(plugins["rejected"][0]["reason"].get<std::string>().empty());
    CHECK(plugins["layers"].size() >= 9);
    CHECK_THAT(run_lamina({"plugins", "--plugin-dir", folder.path()}).out, matchers::contains("rejected"));
}

TEST_CASE("plugins NAME: prints the whole contract") {
    const Finished text = run_lamina({"plugins", "layer_norm"}), data = run_lamina({"plugins", "layer_norm", "--json"});
    REQUIRE(text.status == 0);
    for (const char *part : {"arXiv:1607.06450", "eps", "0 to 1", "... C", "f32 f16 bf16", "optional", "baseline"})
        CHECK_THAT(text.out, matchers::contains(part));
    const json contract = json::parse(data.out);
    CHECK(contract["signature"] == "eps; x: ... C, residual?: ... C; weight?: C, bias?: C -> y: ... C");
    CHECK(contract["params"][0]["name"] == "eps");
    CHECK(contract["weights"][0]["optional"] == true);
    CHECK(contract["variants"][0]["needs"].empty());
    CHECK(contract["tolerances"][0]["rtol"].get<double>() > 0);
}

TEST_CASE("plugins NAME: an unknown name is a plugin error") {
    const Finished f = run_lamina({"plugins", "layer_nrom"});
    CHECK(f.status == 8);
    CHECK(f.out.empty());
    CHECK_THAT(f.err, matchers::contains("did you mean 'layer_norm'?"));
}

TEST_CASE("an unknown name is answered with those that there are") {
    const std::string plugins = run_lamina({"plugins", "qqqqqqqq"}).err;
    CHECK_THAT(plugins,
               matchers::contains("there are activation, append, attention, ") && matchers::contains("--plugin-dir"));
    const std::string tap = run_lamina({"run", g2p(), "a", "--device", "cpu", "--tap", "qqqqqqqq"}).err;
    CHECK_THAT(tap, matchers::contains("no tensor 'qqqqqqqq'; there are ") && matchers::contains(" more"));
}

TEST_CASE("devices: the CPU is always listed, and an unusable device is listed with the reason") {
    const Finished f = run_lamina({"devices", "--json"});
    REQUIRE(f.status == 0);
    const json devices = json::parse(f.out)["devices"];
    REQUIRE_FALSE(devices.empty());
    CHECK(devices.back()["id"] == "cpu");
    for (const json &device : devices) CHECK(device["usable"].get<bool>() == device["unusable"].empty());
    CHECK_THAT(run_lamina({"devices"}).out, matchers::contains("\ncpu "));
}

TEST_CASE("devices: without a Vulkan driver the list says so on stderr, and the CPU still runs") {
    const Surroundings bare{.environment = {{"VK_DRIVER_FILES", "/dev/null"}, {"VK_ICD_FILENAMES", "/dev/null"}}};
    const Finished f = run_lamina({"devices"}, bare);
    CHECK(f.status == 0);
    CHECK(lines_of(f.out).size() == 2); // the head and the CPU
    CHECK_THAT(f.err, matchers::contains("no Vulkan device"));
    CHECK(run_lamina({"run", g2p(), "word"}, bare).status == 0);
}

TEST_CASE("inspect: graphs, layers, weights, vocabularies and generation") {
    const Finished text = run_lamina({"inspect", g2p()}), data = run_lamina({"inspect", g2p(), "--json"});
    REQUIRE(text.status == 0);
    CHECK(text.out.find("graph encode") < text.out.find("graph decode"));
    CHECK_THAT(text.out, matchers::contains("2 915 912 parameters"));
    CHECK_THAT(text.out, matchers::contains("  gives decoder.0.source_attention.key\n")); // named like its layer
    CHECK_THAT(text.out, matchers::contains("  gives log_probabilities = generator.log_softmax\n"));
    CHECK_THAT(text.out, matchers::contains("letters.txt, 28 entries, one per character, lower case"));

    const json model = json::parse(data.out);
    CHECK(model["name"] == "g2p");
    CHECK(model["unused_weights"].empty());
    CHECK(model["generation"]["max_length"] == 32);
    CHECK(model["graphs"][0]["layers"][0]["gives"] == "f32 (B S 160)");
    CHECK(model["graphs"][1]["layers"][0]["gives"] == "f32 (B T 160)");
    CHECK_THAT(text.out, matchers::contains("f32 (B S 160)"));
    REQUIRE(model["graphs"].size() == 2);
    const json &layer = model["graphs"][0]["layers"][3];
    CHECK(layer["name"] == "encoder.0.attention.query");
    CHECK(layer["inputs"]["x"] == "encoder.0.norm_attention");
    CHECK(layer["weights"][0]["name"] == "encoder.0.attention.query.weight");
    CHECK(layer["weights"][0]["shape"] == json({160, 160}));
    CHECK(model["graphs"][0]["layers"][6]["params"]["heads"] == 5);
}

TEST_CASE("inspect --weights lists each weight") {
    CHECK_THAT(run_lamina({"inspect", g2p(), "--weights"}).out, matchers::contains("generator.weight"));
}

TEST_CASE("inspect: a folder without a model is an input error") {
    const Finished f = run_lamina({"inspect", "/no/such/model"});
    CHECK(f.status == 3);
    CHECK(f.out.empty());
    CHECK_THAT(f.err, matchers::contains("/no/such/model"));
}

TEST_CASE("inspect: a model that cannot run with any input is refused with the error of the first run") {
    const TemporaryFolder folder;
    const std::string model = (folder.path() / "m").string();
    REQUIRE(run_lamina({"init", model, "--arch", "encoder", "--d-model", "32", "--heads", "4", "--vocab", "9", "--eps",
                        "1e-3"})
                .status == 0);
    const std::string sound = folder.read("m/model.json");
    const auto inspect = [&](const std::string &from, const std::string &to) {
        std::string changed = sound;
        const size_t at = changed.find(from);
        REQUIRE(at != std::string::npos);
        folder.write("m/model.json", changed.replace(at, from.size(), to));
        const Finished f = run_lamina({"inspect", model});
        CHECK(f.status == 3);
        CHECK_THAT(f.err, matchers::contains("model.json: /graphs/encode/layers/"));
        return f.err;
    };
    CHECK_THAT(inspect("\"heads\": 4", "\"heads\": 5"), matchers::contains("a multiple of 5, found 32"));
    CHECK_THAT(inspect("\"heads\": 4", "\"heads\": -4"), matchers::contains("parameter 'heads'"));
    CHECK_THAT(inspect("\"max_len\": 5000", "\"max_len\": 0"), matchers::contains("parameter 'max_len'"));
    CHECK_THAT(inspect("\"relu\"", "\"rlu\""), matchers::contains("did you mean 'relu'?"));
    CHECK_THAT(inspect("\"eps\": ", "\"eps\": -"), matchers::contains("parameter 'eps'"));
    folder.write("m/model.json", sound);
    CHECK(run_lamina({"inspect", model}).status == 0);
}

TEST_CASE("inspect: a source vocabulary that does not fit the embedding table is refused") {
    const TemporaryFolder folder;
    const std::string model = (folder.path() / "m").string();
    const std::string source = folder.write("source.txt", "a\nb\nc\n"),
                      target = folder.write("target.txt", "<s>\n</s>\nx\n");
    REQUIRE(run_lamina({"init", model, "--d-model", "8", "--heads", "2", "--layers", "1", "--source-vocab", source,
                        "--target-vocab", target})
                .status == 0);
    CHECK(run_lamina({"inspect", model}).status == 0);
    for (const std::string tokens : {"a\nb\nc\nd\n", "a\nb\n"}) {
        folder.write("m/source.txt", tokens);
        for (const Finished &f : {run_lamina({"inspect", model}), run_lamina({"run", model, "a", "--device", "cpu"})}) {
            CHECK(f.status == 3);
            CHECK_THAT(f.err, matchers::contains("/generation/source/vocabulary: expected 3 entries"));
        }
    }
}

TEST_CASE("kernels that the build left out are named, once each and in one line, and no others are") {
    std::set<std::string> left_out;
    const json layers = json::parse(run_lamina({"plugins", "--json"}).out)["layers"];
    for (const json &layer : layers) {
        const json contract = json::parse(run_lamina({"plugins", layer["id"].get<std::string>(), "--json"}).out);
        for (const json &kernel : contract["kernels"])
            if (kernel["bytes"] == 0) left_out.insert(kernel["name"].get<std::string>());
    }
    std::string line = "kernels that this build's shader compiler could not compile: ";
    for (const std::string &name : left_out) line += (name == *left_out.begin() ? "" : ", ") + name;

    const Finished devices = run_lamina({"devices"}), doctor = run_lamina({"doctor", "--device", "cpu"});
    CHECK(json::parse(run_lamina({"devices", "--json"}).out)["kernels_left_out"] == json(left_out));
    CHECK((devices.err.find("could not compile") != std::string::npos) == !left_out.empty());
    CHECK((doctor.out.find("could not compile") != std::string::npos) == !left_out.empty());
    if (left_out.empty()) return;
    CHECK_THAT(devices.err, matchers::contains("lamina: " + line + "; others run in their place"));
    CHECK_THAT(doctor.out, matchers::contains(line + "\n"));
}
