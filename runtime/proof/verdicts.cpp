#include "proof/verdicts.hpp"

#include "base/file.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>

namespace lamina::proof {
namespace {

using Json = nlohmann::json;

constexpr const char *format = "lamina-verdicts/4";

std::string key_of(const abi::Layer &layer) {
    char hash[20];
    std::snprintf(hash, sizeof hash, "@%016llx", static_cast<unsigned long long>(layer.hash));
    return std::string(layer.id()) + hash;
}

constexpr size_t deaths_that_bar = 2;

Verdicts::Admitted read(const Json &v) {
    return {.tried = v.at("tried").get<size_t>(),
            .passed = v.at("passed").get<size_t>(),
            .cases = v.at("cases").get<size_t>(),
            .why = v.at("why").get<std::string>(),
            .shapes = v.at("shapes").get<std::set<std::string>>(),
            .trying = v.at("trying").get<std::string>(),
            .process = v.at("process").get<int64_t>(),
            .deaths = v.at("deaths").get<size_t>()};
}

bool has_ended(int64_t process) { return process != 0 && kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH; }

} // namespace

Verdicts::Verdicts(std::filesystem::path file) : file_(std::move(file)) {
    if (file_.empty() || !std::filesystem::exists(file_)) return;
    try {
        load();
    } catch (const std::exception &) { // damaged: everything is proved again, and the file replaced
        layers_.clear();
        fallen_.clear();
    }
}

void Verdicts::load() {
    const std::vector<std::byte> bytes = read_file(file_, 64u << 20);
    const Json json = Json::parse(reinterpret_cast<const char *>(bytes.data()),
                                  reinterpret_cast<const char *>(bytes.data()) + bytes.size());
    if (json.at("format") != format) return;
    for (const auto &[key, layer] : json.at("layers").items()) {
        OfLayer &of = layers_[key];
        for (const auto &[name, v] : layer.at("variants").items()) of.variants[name] = read(v);
        for (auto &[name, v] : of.variants) {
            if (!has_ended(v.process)) continue;
            v.process = 0;
            changed_ = true;
            if (++v.deaths < deaths_that_bar || v.barred()) continue; // once may have been somebody's kill
            v.why = std::to_string(v.deaths) + " processes ended while they ran its case \"" + v.trying +
                    "\"; 'lamina check --admit' tries it again";
            fallen_.push_back({key.substr(0, key.find('@')), name, v.why});
        }
        for (const auto &[shapes, variant] : layer.at("fastest").items())
            of.fastest[shapes] = variant.get<std::string>();
    }
}

const Verdicts::Admitted *Verdicts::find(const abi::Layer &layer, const std::string &variant) const {
    const auto of = layers_.find(key_of(layer));
    if (of == layers_.end()) return nullptr;
    const auto found = of->second.variants.find(variant);
    return found == of->second.variants.end() ? nullptr : &found->second;
}

const Verdicts::Admitted &Verdicts::set(const abi::Layer &layer, const std::string &variant, Admitted admitted) {
    changed_ = true;
    return layers_[key_of(layer)].variants[variant] = std::move(admitted);
}

void Verdicts::forget(const abi::Layer &layer) {
    layers_.erase(key_of(layer));
    changed_ = true;
}

std::string Verdicts::fastest(const abi::Layer &layer, const std::string &shapes) const {
    const auto of = layers_.find(key_of(layer));
    if (of == layers_.end()) return {};
    const auto found = of->second.fastest.find(shapes);
    return found == of->second.fastest.end() ? "" : found->second;
}

void Verdicts::set_fastest(const abi::Layer &layer, const std::string &shapes, const std::string &variant) {
    layers_[key_of(layer)].fastest[shapes] = variant;
    changed_ = true;
}

void Verdicts::save() {
    if (!changed_ || file_.empty()) return;
    Json layers = Json::object();
    for (const auto &[key, of] : layers_) {
        Json variants = Json::object();
        for (const auto &[name, v] : of.variants)
            variants[name] = {{"tried", v.tried},   {"passed", v.passed}, {"cases", v.cases},     {"why", v.why},
                              {"shapes", v.shapes}, {"trying", v.trying}, {"process", v.process}, {"deaths", v.deaths}};
        layers[key] = {{"variants", std::move(variants)}, {"fastest", of.fastest}};
    }
    try {
        std::filesystem::create_directories(file_.parent_path());
        write_file(file_, Json{{"format", format}, {"layers", std::move(layers)}}.dump(1) + "\n");
        changed_ = false;
    } catch (const std::exception &) { // a read-only home: the next process proves it again
    }
}

} // namespace lamina::proof
