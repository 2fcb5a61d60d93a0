// What Lamina reads is what transformers computes, and llama.cpp of GGUF files: for every change of a model's files
// that make.py tries, Lamina gives their numbers, or refuses the files.
#include "../temporary_folder.hpp"
#include "catch.hpp"
#include "digest.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "verdict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

using namespace differential;
namespace fs = std::filesystem;

namespace {

const fs::path digests = fs::path(LAMINA_SOURCE_DIR) / "tests" / "differential" / "digests";

// Transformers may refuse a value of a key that changes no number, such as "num_labels": 2.5; Lamina may ignore it.
enum Outcome { same_numbers, both_refuse, lamina_refuses, lamina_ignores, wrong };
constexpr std::array names{"same numbers", "both refuse", "Lamina alone refuses", "Lamina alone ignores", "WRONG"};
constexpr size_t outcomes = names.size();

struct Finding {
    Outcome outcome;
    std::string key, value, why;
};

std::string difference(const Json &expected, const Verdict &found) {
    for (const auto &[name, output] : expected.items()) {
        const auto ours = found.outputs.find(name);
        if (ours == found.outputs.end() && name == "tokens" && !found.no_images.empty()) continue; // of an image
        if (ours == found.outputs.end()) return "there is no output " + name;
        const std::vector<float> &values = ours->second;
        if (values.size() != output["size"])
            return name + " has " + std::to_string(values.size()) + " values, not " + output["size"].dump();
        const double tolerance = 1e-4 * output["largest"].get<double>();
        for (size_t i = 0; i < output["sample"].size(); ++i) {
            const double theirs = output["sample"][i], value = values[(i * 7919 + 13) % values.size()];
            if (!(std::abs(theirs - value) <= tolerance))
                return name + ": " + std::to_string(value) + " instead of " + std::to_string(theirs);
        }
    }
    return "";
}

bool is_finite(const Verdict &verdict) {
    return std::ranges::all_of(verdict.outputs, [](const auto &output) {
        return std::ranges::all_of(output.second, [](float value) { return std::isfinite(value); });
    });
}

// A folder that is read for texts alone says why: that refuses its part for images, but texts must give the numbers of
// transformers, or if that refuses the folder, those of the unchanged one.
Finding judge(const Json &expected, const Json &unchanged, const Verdict &found) {
    if (!found.broken.empty()) return {wrong, "", "", "an exception that is not an Error(input): " + found.broken};
    const bool refused = expected.contains("refused");
    if (!found.refused.empty()) return {refused ? both_refuse : lamina_refuses, "", "", found.refused};
    if (!found.no_images.empty()) {
        const std::string why = difference(refused ? unchanged : expected, found);
        if (!why.empty()) return {wrong, "", "", "read for texts alone: " + why};
        return {refused ? both_refuse : lamina_refuses, "", "", found.no_images};
    }
    if (!refused) {
        const std::string why = difference(expected, found);
        return {why.empty() ? same_numbers : wrong, "", "", why};
    }
    const std::string why = expected["refused"];
    if (why.ends_with("not finite") && !is_finite(found)) return {same_numbers, "", "", ""};
    return {wrong, "", "", "refused elsewhere: " + why};
}

// What a change is called in the table: its keys, and their values.
std::pair<std::string, std::string> described(const Json &change) {
    std::string key, value;
    const auto add = [&](const std::string &k, const std::string &v) {
        key += (key.empty() ? "" : ", ") + k, value += (value.empty() ? "" : ", ") + v;
    };
    if (change.contains("set"))
        for (const auto &[path, to] : change["set"].items()) add(path, to.dump());
    if (change.contains("drop"))
        for (const std::string path : change["drop"]) add(path, "(absent)");
    if (change.contains("tensors"))
        for (const auto &[name, shape] : change["tensors"].items())
            add("tensor " + name, shape.is_null() ? "(absent)" : shape.dump());
    return {key.empty() ? "(no change)" : key, value};
}

// A line for each key: which values have which outcome.
void print(const std::string &name, const std::vector<Finding> &findings) {
    std::array<size_t, outcomes> counts{};
    std::map<std::string, std::array<std::string, outcomes>> table;
    for (const Finding &f : findings) {
        ++counts.at(f.outcome);
        std::string &cell = table[f.key].at(f.outcome);
        cell += (cell.empty() ? "" : " | ") + f.value;
    }
    std::cout << "\n==== " << name << ": " << findings.size() << " changes";
    for (size_t i = 0; i < names.size(); ++i) std::cout << (i == 0 ? ": " : ", ") << counts.at(i) << ' ' << names.at(i);
    std::cout << '\n';
    for (const auto &[key, cells] : table) {
        std::cout << key << '\n';
        for (size_t i = 0; i < names.size(); ++i)
            if (!cells.at(i).empty()) std::cout << "    " << names.at(i) << ": " << cells.at(i) << '\n';
    }
    for (const Outcome outcome : {lamina_refuses, lamina_ignores, wrong})
        for (const Finding &f : findings)
            if (f.outcome == outcome)
                std::cout << names.at(outcome) << ": " << name << ": " << f.key << " = " << f.value << ": " << f.why
                          << '\n';
}

// Keys that change no number: whatever values of them transformers accepts, it computes the same.
std::set<std::string> keys_without_effect(const Digest &digest) {
    std::set<std::string> accepted, others;
    for (const Json &change : digest.changes) {
        const Json &set = change[0].contains("set") ? change[0]["set"] : Json::object();
        if (set.size() != 1 || change[0].size() != 1) continue;
        const std::string key = set.begin().key();
        const auto number = change[1].get<size_t>();
        if (number == 0)
            accepted.insert(key);
        else if (!digest.results[number].contains("refused"))
            others.insert(key);
    }
    for (const std::string &key : others) accepted.erase(key);
    return accepted;
}

// Explains what transformers refuses and Lamina does not.
void excuse(Finding &finding, const Json &change, const Digest &digest, const std::set<std::string> &without_effect,
            const Verdict &found) {
    if (finding.outcome != wrong || !found.refused.empty() || !found.broken.empty() || digest.is_gguf()) return;
    std::set<std::string> keys;
    if (change.contains("set"))
        for (const auto &[path, to] : change["set"].items()) keys.insert(path);
    if (change.contains("drop"))
        for (const std::string path : change["drop"]) keys.insert(path);
    const bool only_keys = !change.contains("tensors");
    if (only_keys && std::ranges::includes(without_effect, keys) && difference(digest.results[0], found).empty())
        finding.outcome = lamina_ignores;
}

// A change takes milliseconds, and there are a hundred thousand. So one in three is tried where there are many, or one
// in LAMINA_EVERY.
size_t every(const Digest &digest) {
    const char *given = std::getenv("LAMINA_EVERY");
    if (given != nullptr) return std::max<size_t>(1, std::stoull(given));
    return digest.changes.size() > 500 ? 3 : 1;
}

std::vector<Finding> findings_of(const Digest &digest) {
    const std::set<std::string> without_effect = keys_without_effect(digest);
    const TemporaryFolder folder;
    Files files(digest, folder.path());
    Reader reader(test::runtime(), folder.path());
    std::vector<Finding> out;
    for (size_t i = 0; i < digest.changes.size(); i += every(digest)) {
        const Json &change = digest.changes[i];
        const Verdict found = reader.read(files.write(change[0]));
        Finding finding = judge(digest.results[change[1].get<size_t>()], digest.results[0], found);
        std::tie(finding.key, finding.value) = described(change[0]);
        if (digest.results[change[1].get<size_t>()].contains("refused"))
            excuse(finding, change[0], digest, without_effect, found);
        out.push_back(finding);
    }
    return out;
}

// Refusals of a GGUF file that speak of another file, or of names that only another file has.
std::vector<std::string> foreign_names(const std::vector<Finding> &findings) {
    constexpr std::array names_of_folders{"config.json", "_proj", "_theta",      "num_",
                                          "hidden_size", "/rope", "embed_tokens"};
    std::vector<std::string> out;
    for (const Finding &f : findings)
        if (f.outcome == both_refuse || f.outcome == lamina_refuses)
            for (const std::string_view name : names_of_folders)
                if (f.why.find(name) != std::string::npos) out.push_back(f.why);
    return out;
}

} // namespace

// A section for each digest: "differential -c llama" runs one.
TEST_CASE("differential: changed files give the numbers of their makers' programs or are refused") {
    for (const auto &entry : fs::directory_iterator(digests)) {
        if (entry.path().extension() != ".json") continue;
        DYNAMIC_SECTION(entry.path().stem().string()) {
            const Digest digest = read_digest(entry.path());
            const std::vector<Finding> findings = findings_of(digest);
            print(digest.name, findings);
            const auto number = [&](Outcome outcome) {
                return std::ranges::count(findings, outcome, &Finding::outcome);
            };
            CHECK(number(wrong) == 0);                     // they are printed above
            CHECK(findings.at(0).outcome == same_numbers); // without a change
            CHECK(digest.changes.size() > 50);
            // Refusing everything would be safe, and useless.
            CHECK(number(lamina_refuses) * 4 < number(same_numbers));
            if (digest.is_gguf()) CHECK(foreign_names(findings) == std::vector<std::string>());
        }
    }
}

TEST_CASE("differential: the GGUF files are those that the package gguf writes") {
    for (const char *name : {"llama", "qwen2", "qwen3"}) {
        const Digest digest = read_digest(digests / (std::string(name) + ".gguf.json"));
        const TemporaryFolder folder;
        std::ifstream in(Files(digest, folder.path()).write(Json::object()), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        CHECK(std::to_string(hash(bytes)) == digest.hash);
    }
}
