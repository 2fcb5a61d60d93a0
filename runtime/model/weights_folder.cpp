#include "model/weights_folder.hpp"

#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "base/utf8.hpp"
#include "model/other_formats.hpp"
#include "model/safetensors.hpp"
#include "model/torch_file.hpp"

#include <array>
#include <map>
#include <string>

namespace lamina::model {
namespace {

namespace fs = std::filesystem;

using Reader = Weights (*)(const fs::path &file);

// In the order in which transformers looks for them.
struct WeightFiles {
    const char *whole, *index;
    Reader read;
};
constexpr std::array weight_files{
    WeightFiles{"model.safetensors", "model.safetensors.index.json",
                [](const fs::path &file) { return open_safetensors(file).weights; }},
    WeightFiles{"pytorch_model.bin", "pytorch_model.bin.index.json", open_torch_file},
};

constexpr uint64_t largest_index = 64u << 20;

std::string shard_name(JsonView value) {
    std::string name(value.string());
    if (name.empty() || name == ".." || fs::path(name).filename() != fs::path(name) ||
        name.find('\0') != std::string::npos)
        value.fail("expected the name of a file in the same folder, found " + in_quotes(name));
    return name;
}

void add_all(const Weights &shard, Weights &weights) {
    try {
        for (const auto &[name, weight] : shard.entries()) weights.add(name, weight);
        for (const auto &[name, tensor] : shard.others()) weights.add_other(name, tensor);
    } catch (const Error &e) {
        throw Error(ErrorCode::input, shard.file().string() + ": a tensor of another shard again: " + e.what());
    }
}

Weights open_shards(const fs::path &index, Reader read) {
    const std::vector<std::byte> bytes = read_file(index, largest_index, FileReader::Kind::ordinary);
    const JsonText document({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, index.string());
    const JsonView map = document.root().at("weight_map");
    std::map<std::string, Weights> shards;
    Weights all(index);
    for (const JsonView value : map.members()) {
        const std::string name(value.key());
        const std::string file = shard_name(value);
        auto shard = shards.find(file);
        if (shard == shards.end()) {
            std::error_code error;
            if (!fs::exists(index.parent_path() / file, error))
                value.fail("the folder has no " + in_quotes(file) + "; expected every shard that the index names");
            shard = shards.emplace(file, read(index.parent_path() / file)).first;
            add_all(shard->second, all);
        }
        if (!shard->second.entries().contains(name) && !shard->second.others().contains(name))
            value.fail(in_quotes(file) + " holds no tensor " + in_quotes(name));
    }
    if (shards.empty()) map.fail("expected the names of tensors, found none");
    return all;
}

} // namespace

Weights open_weights_folder(const fs::path &folder) {
    std::error_code error;
    for (const WeightFiles &files : weight_files) {
        if (fs::exists(folder / files.whole, error)) return files.read(folder / files.whole);
        if (fs::exists(folder / files.index, error)) return open_shards(folder / files.index, files.read);
    }
    throw Error(ErrorCode::input, folder.string() +
                                      ": no weights in this folder; expected model.safetensors, or "
                                      "model.safetensors.index.json and the files that it names, or either of "
                                      "pytorch_model.bin" +
                                      found_instead(folder));
}

} // namespace lamina::model
