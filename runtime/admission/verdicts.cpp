#include "admission/verdicts.hpp"

#include "abi/pattern.hpp"
#include "base/file.hpp"
#include "base/file_turn.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

namespace lamina::admission {
namespace {

constexpr const char *format = "lamina-verdicts/9";

// The reference of a fusion is that of the layers that it replaces.
std::string key_of(const abi::Layer &layer) {
    uint64_t all = layer.hash;
    if (layer.pattern != nullptr)
        for (const abi::Pattern::Member &member : layer.pattern->members) {
            const std::array both{all, member.layer->hash};
            all = hash_of(std::as_bytes(std::span(both)));
        }
    char hash[20];
    std::snprintf(hash, sizeof hash, "@%016llx", static_cast<unsigned long long>(all));
    return std::string(layer.id()) + hash;
}

Verdicts::Known read_known(JsonView v) {
    const auto count = [&](const char *key) { return static_cast<size_t>(v.at(key).integer(0, INT64_MAX)); };
    Verdicts::Known out{.verdict = {.tried = count("tried"),
                                    .passed = count("passed"),
                                    .cases = count("cases"),
                                    .why = std::string(v.at("why").string()),
                                    .replay = std::string(v.at("replay").string())}};
    for (const JsonView shapes : v.at("shapes").items()) out.shapes.emplace(shapes.string());
    return out;
}

} // namespace

Verdicts::Verdicts(std::filesystem::path file) : file_(std::move(file)), layers_(read()) {}

Verdicts::Layers Verdicts::read() const {
    if (file_.empty()) return {};
    try {
        const std::vector<std::byte> bytes = read_file(file_, 64u << 20, FileReader::Kind::ordinary);
        const JsonText json({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, file_.string());
        if (json.root().at("format").string() != format) return {};
        Layers out;
        for (const JsonView layer : json.root().at("layers").members()) {
            OfLayer &of = out[std::string(layer.key())];
            for (const JsonView v : layer.at("variants").members()) of.variants[std::string(v.key())] = read_known(v);
            for (const JsonView fastest : layer.at("fastest").members())
                of.fastest.emplace(fastest.key(), fastest.string());
        }
        return out;
    } catch (const std::exception &) { // absent or damaged: everything is proved again and the file replaced
        return {};
    }
}

void Verdicts::write(const Layers &layers) const {
    Json json = Json::object();
    for (const auto &[key, of] : layers) {
        Json variants = Json::object(), fastest = Json::object();
        for (const auto &[name, known] : of.variants) {
            const Verdict &v = known.verdict;
            variants[name] = {{"tried", v.tried},   {"passed", v.passed},
                              {"cases", v.cases},   {"why", v.why},
                              {"replay", v.replay}, {"shapes", std::vector(known.shapes.begin(), known.shapes.end())}};
        }
        for (const auto &[shapes, variant] : of.fastest) fastest[shapes] = variant;
        json[key] = {{"variants", std::move(variants)}, {"fastest", std::move(fastest)}};
    }
    write_file(file_, Json{{"format", format}, {"layers", std::move(json)}}.in_lines(0) + "\n",
               FileWriter::Existing::replace);
}

const Verdicts::Known *Verdicts::find(const abi::Layer &layer, const std::string &variant) const {
    const auto of = layers_.find(key_of(layer));
    if (of == layers_.end()) return nullptr;
    const auto found = of->second.variants.find(variant);
    return found == of->second.variants.end() ? nullptr : &found->second;
}

void Verdicts::set(const abi::Layer &layer, const std::string &variant, const Verdict &verdict,
                   const std::string &shape, Where where) {
    for (Layers *layers : {&layers_, where == Where::file ? &own_ : &here_}) {
        Known &known = (*layers)[key_of(layer)].variants[variant];
        known.verdict = verdict;
        if (!shape.empty()) known.shapes.insert(shape);
    }
}

void Verdicts::forget(const abi::Layer &layer) {
    layers_.erase(key_of(layer));
    own_.erase(key_of(layer));
    here_.erase(key_of(layer));
    forgotten_.insert(key_of(layer));
}

std::string Verdicts::fastest(const abi::Layer &layer, const std::string &shapes) const {
    const auto of = layers_.find(key_of(layer));
    if (of == layers_.end()) return {};
    const auto found = of->second.fastest.find(shapes);
    return found == of->second.fastest.end() ? "" : found->second;
}

size_t Verdicts::times_fastest(const abi::Layer &layer, const std::string &variant) const {
    const auto of = layers_.find(key_of(layer));
    if (of == layers_.end()) return 0;
    return static_cast<size_t>(
        std::ranges::count_if(of->second.fastest, [&](const auto &each) { return each.second == variant; }));
}

void Verdicts::set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant) {
    layers_[key_of(layer)].fastest[shapes] = own_[key_of(layer)].fastest[shapes] = variant;
}

Verdicts::Known Verdicts::merge(const Known &theirs, const Known &own) {
    const bool more = theirs.verdict.tried > own.verdict.tried; // all try the same cases in the same order
    const Verdict &barred = theirs.verdict.barred() ? theirs.verdict : own.verdict;
    Known out{more ? theirs.verdict : own.verdict, theirs.shapes};
    out.verdict.why = barred.why, out.verdict.replay = barred.replay;
    out.shapes.insert(own.shapes.begin(), own.shapes.end());
    return out;
}

void Verdicts::add_own_to(Layers &layers) const {
    for (const std::string &key : forgotten_) layers.erase(key);
    for (const auto &[key, own] : own_) {
        OfLayer &of = layers[key];
        for (const auto &[name, v] : own.variants) of.variants[name] = merge(of.variants[name], v);
        for (const auto &[shapes, variant] : own.fastest) of.fastest[shapes] = variant;
    }
}

std::string Verdicts::save() {
    if ((own_.empty() && forgotten_.empty()) || file_.empty()) return {};
    try {
        const std::filesystem::path folder = file_.parent_path();
        std::error_code failed;
        std::filesystem::create_directories(folder, failed);
        if (failed) return folder.string() + ": " + failed.message();
        const FileTurn turn(file_);
        Layers merged = read();
        add_own_to(merged);
        write(merged);
        layers_ = std::move(merged);
        for (const auto &[key, of] : here_)
            for (const auto &[name, known] : of.variants) {
                Known &all = layers_[key].variants[name];
                all = merge(all, known);
            }
        own_.clear();
        forgotten_.clear();
        return {};
    } catch (const std::exception &e) { // a read-only home
        return e.what();
    }
}

} // namespace lamina::admission
