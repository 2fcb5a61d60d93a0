#include "digest.hpp"

#include "../unit/model/gguf_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <numeric>
#include <stdexcept>

namespace differential {
namespace fs = std::filesystem;
namespace {

void write_file(const fs::path &file, const std::string &bytes) {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

// As models.py and gguf_models.py guess it for a tensor that the model lacks.
Json kind_of(const std::string &name, const Json &shape, bool gguf) {
    if (gguf && (name == "rope_freqs.weight" || name.find("norm") != std::string::npos)) return {shape, "F32", 1, 0.5};
    if (name.ends_with("position_ids")) return {shape, "I64", 0, 1};
    constexpr std::array words{"embed_tokens", "_embeddings.weight", "wte.",
                               "wpe.",         "embed_positions",    "shared.weight"};
    const bool table =
        std::ranges::any_of(words, [&](const char *word) { return name.find(word) != std::string::npos; });
    return {shape, "F32", 0, table ? 0.02 : 0.4};
}

// A path is keys with "/" between them.
Json *find(Json &config, const std::string &path, bool create) {
    Json *place = &config;
    for (size_t at = 0;; ++at) {
        const size_t end = path.find('/', at);
        const std::string key = path.substr(at, end - at);
        if (!create && !place->contains(key)) return nullptr;
        place = &(*place)[key];
        if (end == std::string::npos) return place;
        at = end;
    }
}

Json changed_config(Json config, const Json &change) {
    if (change.contains("drop"))
        for (const std::string path : change["drop"]) {
            const size_t slash = path.rfind('/');
            Json *outer = slash == std::string::npos ? &config : find(config, path.substr(0, slash), false);
            if (outer != nullptr) outer->erase(path.substr(slash == std::string::npos ? 0 : slash + 1));
        }
    if (change.contains("set"))
        for (const auto &[path, value] : change["set"].items()) *find(config, path, true) = value;
    return config;
}

Json changed_tensors(Json tensors, const Json &change, bool gguf) {
    if (change.contains("tensors"))
        for (const auto &[name, shape] : change["tensors"].items()) {
            if (shape.is_null())
                tensors.erase(name);
            else if (tensors.contains(name))
                tensors[name][0] = shape;
            else
                tensors[name] = kind_of(name, shape, gguf);
        }
    return tensors;
}

std::string bytes_of(const std::string &name, const Json &kind) {
    size_t count = 1;
    for (const size_t size : kind[0]) count *= size;
    if (kind[1] == "I64") {
        std::vector<int64_t> values(count);
        std::iota(values.begin(), values.end(), 0);
        return {reinterpret_cast<const char *>(values.data()), count * sizeof(int64_t)};
    }
    std::vector<float> values;
    for (const double value : uniform(kind.size() > 4 ? kind[4].get<std::string>() : name, count))
        values.push_back(static_cast<float>(kind[2].get<double>() + kind[3].get<double>() * value));
    return {reinterpret_cast<const char *>(values.data()), count * sizeof(float)};
}

std::string safetensors(const Json &tensors) {
    Json header;
    std::string data;
    for (const auto &[name, kind] : tensors.items()) {
        const std::string bytes = bytes_of(name, kind);
        header[name] = {
            {"dtype", kind[1]}, {"shape", kind[0]}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
        data += bytes;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const uint64_t length = text.size();
    std::string out(sizeof length, '\0');
    std::memcpy(out.data(), &length, sizeof length);
    return out + text + data;
}

std::string gguf(const Json &metadata, const Json &tensors) {
    using lamina::model::GgufFile;
    GgufFile out;
    for (const auto &[key, value] : metadata.items()) {
        const std::string type = value[0];
        if (type == "string")
            out.metadata(key, value[1].get<std::string>());
        else if (type == "u32")
            out.metadata(key, value[1].get<uint32_t>());
        else if (type == "f32")
            out.metadata(key, lamina::model::gguf_f32, GgufFile::number(value[1].get<float>()));
        else
            out.metadata(key, lamina::model::gguf_bool, GgufFile::number(value[1].get<bool>()));
    }
    for (const auto &[name, kind] : tensors.items()) {
        std::vector<uint64_t> dims = kind[0];
        std::ranges::reverse(dims);
        out.tensor(name, dims, lamina::model::ggml_f32, bytes_of(name, kind));
    }
    std::string bytes = out.bytes();
    bytes.resize((bytes.size() + out.alignment - 1) / out.alignment * out.alignment, '\0');
    return bytes;
}

} // namespace

bool Digest::is_gguf() const { return config.contains("general.architecture"); }

uint64_t hash(std::string_view bytes) {
    uint64_t state = 0xcbf29ce484222325;
    for (const char byte : bytes) state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    return state;
}

Digest read_digest(const fs::path &file) {
    Json json = Json::parse(std::ifstream(file));
    return {file.stem().string(),
            json["config"],
            json["tensors"],
            json["results"],
            json["changes"],
            json.value("hash", ""),
            json.value("preprocessor", Json()),
            json.value("processor", Json())};
}

// The hash of the name, then splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
std::vector<double> uniform(const std::string &name, size_t count) {
    uint64_t state = hash(name);
    std::vector<double> out(count);
    for (double &value : out) {
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        z ^= z >> 31;
        value = static_cast<double>(z >> 40) / (1 << 23) - 1;
    }
    return out;
}

Files::Files(const Digest &digest, fs::path folder) : digest_(digest), folder_(std::move(folder)) {}

fs::path Files::write(const Json &change) {
    const Json config = changed_config(digest_.config, change);
    Json tensors = changed_tensors(digest_.tensors, change, digest_.is_gguf());
    if (digest_.is_gguf()) {
        write_file(folder_ / "model.gguf", gguf(config, tensors));
        return folder_ / "model.gguf";
    }
    write_file(folder_ / "config.json", config.dump());
    for (const auto &[name, json] :
         {std::pair{"preprocessor_config.json", &digest_.preprocessor}, {"processor_config.json", &digest_.processor}})
        if (!json->is_null()) write_file(folder_ / name, json->dump());
    if (tensors != stored_) {
        write_file(folder_ / "model.safetensors", safetensors(tensors));
        stored_ = std::move(tensors);
    }
    return folder_;
}

} // namespace differential
