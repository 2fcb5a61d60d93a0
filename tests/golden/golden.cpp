// Compares every layer's reference with the results of PyTorch in plugins/LAYER/golden/*.safetensors, which
// tools/golden.py writes.
#include "catch.hpp"

#include "abi/call.hpp"
#include "base/json_reader.hpp"
#include "base/storage.hpp"
#include "model/safetensors.hpp"
#include "places.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>

namespace {
using namespace lamina;
namespace fs = std::filesystem;
using Entries = std::map<std::string, model::Weight, std::less<>>;

// References accumulate in double and round once, so little more than a float's last bit may differ.
constexpr double tolerance = 1e-6;

std::vector<fs::path> golden_files() {
    std::vector<fs::path> files;
    for (const auto &plugin : fs::directory_iterator(fs::path(LAMINA_SOURCE_DIR) / "plugins")) {
        if (!fs::is_directory(plugin.path() / "golden")) continue;
        for (const auto &file : fs::directory_iterator(plugin.path() / "golden"))
            if (file.path().extension() == ".safetensors") files.push_back(file.path());
    }
    std::ranges::sort(files);
    return files;
}

std::map<std::string, abi::ParamValue, std::less<>> params_of(const model::Safetensors &file) {
    const JsonText document(file.metadata.at("params"), file.weights.file().string() + ", params");
    std::map<std::string, abi::ParamValue, std::less<>> params;
    for (const JsonView value : document.root().members()) {
        const std::string name(value.key());
        if (value.is_boolean())
            params[name] = value.boolean();
        else if (value.is_number())
            params[name] = value.number();
        else
            params[name] = std::string(value.string());
    }
    return params;
}

// The tensors named PREFIX.PORT, by port.
std::map<std::string, TensorType, std::less<>> types_of(const Entries &entries, const std::string &prefix) {
    std::map<std::string, TensorType, std::less<>> types;
    for (const auto &[name, entry] : entries)
        if (name.starts_with(prefix + ".")) types[name.substr(prefix.size() + 1)] = entry.type;
    return types;
}

// Converted for references: everything but I32 to F32.
Tensor widened(const model::Weight &entry) {
    Tensor tensor({entry.type.dtype == DType::i32 ? DType::i32 : DType::f32, entry.type.shape});
    if (entry.type.dtype == DType::i32)
        std::ranges::copy(entry.bytes(), tensor.bytes().begin());
    else
        widen(entry.type.dtype, entry.bytes(), tensor.f32());
    return tensor;
}

// A list of ports with their memory: tensors from the file, or NaN or -1 where the reference writes.
struct Bound {
    std::vector<Tensor> tensors;
    std::vector<void *> pointers;

    Bound(const abi::LayerCall &call, abi::PortList list, const lamina_port *ports, const Entries &entries,
          const std::string &prefix) {
        const auto &types = call.types(list);
        const auto &bound = call.bound(list);
        for (size_t i = 0; i < types.size(); ++i) {
            const auto entry = entries.find(prefix + "." + ports[bound[i]].name);
            if (types[i].shape.empty())
                tensors.emplace_back();
            else if (list != abi::PortList::out)
                tensors.push_back(widened(entry->second));
            else if (types[i].dtype == DType::i32)
                std::ranges::fill(tensors.emplace_back(types[i]).i32(), -1);
            else
                std::ranges::fill(tensors.emplace_back(types[i]).f32(), std::numeric_limits<float>::quiet_NaN());
        }
        for (size_t i = 0; i < types.size(); ++i)
            pointers.push_back(types[i].shape.empty() ? nullptr : tensors[bound[i]].bytes().data());
    }
};

bool rows_agree(const Tensor &found, const Tensor &expected) {
    REQUIRE(found.type() == expected.type());
    if (expected.dtype() == DType::i32) return std::ranges::equal(found.i32(), expected.i32());
    const auto cols = static_cast<size_t>(expected.shape().back());
    for (size_t base = 0; base < expected.f32().size(); base += cols) {
        const auto f = found.f32().subspan(base, cols), e = expected.f32().subspan(base, cols);
        double largest = 0, difference = 0;
        for (size_t c = 0; c < cols; ++c) {
            if (std::isfinite(e[c]) && std::isfinite(f[c])) {
                largest = std::max<double>(largest, std::abs(e[c]));
                difference = std::max(difference, std::abs(double(f[c]) - double(e[c])));
            } else if (std::isnan(e[c]) ? !std::isnan(f[c]) : f[c] != e[c]) {
                return false;
            }
        }
        if (difference > tolerance * largest) return false;
    }
    return true;
}

// Runs the reference on a golden file and compares every output, and every state that the file has an end value for.
void check(const abi::Layer &layer, const model::Safetensors &file) {
    const Entries &entries = file.weights.entries();
    const abi::LayerCall call(layer, params_of(file),
                              {types_of(entries, "in"), types_of(entries, "weight"), types_of(entries, "state")},
                              file.weights.file().filename().string());
    const lamina_layer &contract = *layer.contract;
    const Bound in(call, abi::PortList::in, contract.inputs, entries, "in");
    const Bound weight(call, abi::PortList::weight, contract.weights, entries, "weight");
    const Bound out(call, abi::PortList::out, contract.outputs, entries, "out");
    const Bound state(call, abi::PortList::state, contract.states, entries, "state");
    call.reference({in.pointers, weight.pointers, out.pointers, state.pointers});

    size_t compared = 0;
    const auto compare = [&](const Bound &bound, const lamina_port *ports, const std::string &prefix) {
        for (size_t i = 0; i < bound.tensors.size(); ++i) {
            const auto expected = entries.find(prefix + "." + ports[i].name);
            if (expected == entries.end()) continue;
            INFO(prefix << "." << ports[i].name);
            CHECK(rows_agree(bound.tensors[i], widened(expected->second)));
            ++compared;
        }
    };
    compare(out, contract.outputs, "out");
    compare(state, contract.states, "state_after");
    CHECK(compared == types_of(entries, "out").size() + types_of(entries, "state_after").size());
    CHECK(compared > 0);
}

} // namespace

TEST_CASE("golden: every layer's reference agrees with PyTorch") {
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    for (const fs::path &path : golden_files()) {
        INFO(path.string());
        const auto file = model::open_safetensors(path);
        CHECK(file.metadata.at("layer") == path.parent_path().parent_path().filename().string());
        check(plugins->layer(file.metadata.at("layer")), file);
    }
}

TEST_CASE("golden: every layer with a reference of its own has golden files") {
    std::set<std::string> covered;
    for (const fs::path &path : golden_files()) covered.insert(model::open_safetensors(path).metadata.at("layer"));
    const auto plugins = abi::Registry::discover({LAMINA_PLUGIN_DIR});
    REQUIRE(!plugins->layers().empty());
    for (const auto &[id, layer] : plugins->layers()) {
        INFO(id);
        CHECK(covered.contains(id) == (layer.pattern == nullptr)); // a fusion has the references of others
    }
}
