#include "edited_layer.hpp"

#include "conformance/case_graph.hpp"
#include "conformance/verdict.hpp"
#include "interpreter/device.hpp"
#include "kernels.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <regex>
#include <span>

namespace test {
namespace {

namespace fs = std::filesystem;
using namespace lamina;

constexpr uint32_t subgroup = 32;
const fs::path shaders = fs::path(LAMINA_SOURCE_DIR) / "shaders";

std::string read(const std::string &file) {
    std::ifstream in(shaders / file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A kernel and how it is compiled: product_few_rows_subgroup_vec4 is product_few_rows.comp with SUBGROUP and VEC4.
struct Form {
    std::string folder, file; // "product", "product/product_few_rows.comp"
    std::string defines;      // " -DSUBGROUP -DVEC4"
};

Form form_of(const abi::Layer &layer, const std::string &kernel) {
    Form found;
    size_t length = 0;
    // Its own kernels and those of products; then those of other layers, which fusions take.
    for (const fs::path &place : {shaders / layer.id(), shaders / "product", shaders}) {
        if (!fs::exists(place) || length != 0) continue;
        for (const auto &entry : fs::recursive_directory_iterator(place)) {
            const std::string stem = entry.path().stem();
            if (entry.path().extension() != ".comp" || !kernel.starts_with(stem) || stem.size() <= length) continue;
            length = stem.size();
            found.folder = fs::relative(entry.path().parent_path(), shaders);
            found.file = found.folder + "/" + stem + ".comp";
        }
    }
    if (found.file.empty()) throw std::runtime_error("no source of kernel " + kernel);
    for (const char c : kernel.substr(length))
        found.defines += c == '_' ? std::string(" -D") : std::string(1, static_cast<char>(std::toupper(c)));
    return found;
}

void add_sources(const std::string &file, std::vector<std::string> &out) {
    if (std::ranges::find(out, file) != out.end()) return;
    out.push_back(file);
    const std::string text = read(file), folder = fs::path(file).parent_path();
    const std::regex include("#include \"([^\"]+)\"");
    for (std::sregex_iterator i(text.begin(), text.end(), include), end; i != end; ++i)
        for (const std::string &name : {(*i)[1].str(), folder + "/" + (*i)[1].str()})
            if (fs::exists(shaders / name)) add_sources(name, out);
}

std::vector<uint32_t> compile(const Form &form, const Edit &edit) {
    const TemporaryFolder copy;
    fs::copy(shaders, copy.path(), fs::copy_options::recursive);
    std::string text = read(edit.file);
    text.replace(edit.at, edit.text.size(), edit.becomes);
    (void)copy.write(edit.file, text);
    const std::string folder = copy.path(), out = folder + "/kernel.spv";
    const std::string command = LAMINA_GLSLANG " -V --target-env vulkan1.1" + form.defines + " -I" + folder + " -I" +
                                folder + "/" + form.folder + " -I" LAMINA_SOURCE_DIR "/include -o " + out + " " +
                                folder + "/" + form.file + " > " + folder + "/log";
    if (std::system(command.c_str()) != 0) throw std::runtime_error(copy.read("log"));
    const std::string bytes = copy.read("kernel.spv");
    std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

// What is wrong with a variant's results.
std::string fault_of(const conformance::CaseGraph &graph, const lamina_variant &variant) {
    const lamina_layer &contract = *graph.plan.steps.front().call.layer().contract;
    try {
        plan::ProgramOptions options;
        options.variants = {variant.name};
        const auto program =
            interpreter::make_device(plugins(), subgroup)->backend(graph.weights)->compile(graph.plan, options);
        write_values(*program, graph);
        const std::vector<Tensor> found = run_case(*program, graph), expected = reference_of(plugins(), graph, {});
        const lamina_tolerance tolerance = conformance::tolerance_of(contract, variant.arithmetic);
        Verdict all;
        for (size_t i = 0; i < found.size(); ++i)
            conformance::add(all, compare(found[i], expected[i], tolerance, "result " + std::to_string(i)));
        return all.passed ? "" : all.text();
    } catch (const Error &e) {
        return e.what();
    }
}

} // namespace

Edit edit(const std::string &file, const std::string &text, const std::string &becomes) {
    const std::string all = read(file);
    const size_t at = all.find(text);
    if (at == std::string::npos || all.find(text, at + 1) != std::string::npos)
        throw std::runtime_error("expected '" + text + "' once in " + file);
    return {file, at, text, becomes};
}

std::string source(const std::string &file) { return read(file); }

std::vector<std::string> sources_of(const abi::Layer &layer, const std::string &kernel) {
    std::vector<std::string> files;
    add_sources(form_of(layer, kernel).file, files);
    return files;
}

std::vector<Edit> edits(const abi::Layer &layer, const std::string &kernel, const std::string &text,
                        const std::string &becomes) {
    std::vector<Edit> out;
    for (const std::string &file : sources_of(layer, kernel)) {
        const std::string all = read(file);
        for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1))
            out.push_back({file, at, text, becomes});
    }
    return out;
}

EditedLayer::EditedLayer(const abi::Layer &honest, const std::string &kernel, const Edit &edit)
    : spirv_(compile(form_of(honest, kernel), edit)),
      kernels_(honest.contract->kernels, honest.contract->kernels + honest.contract->n_kernels),
      contract_(*honest.contract), layer_(honest) {
    for (lamina_kernel &k : kernels_) {
        if (k.name != kernel) continue;
        differs_ = !std::ranges::equal(std::span(k.spirv, k.words), spirv_);
        k.spirv = spirv_.data();
        k.words = spirv_.size();
    }
    contract_.kernels = kernels_.data();
    layer_.contract = &contract_;
}

std::string EditedLayer::fault(const std::string &case_text) const {
    const conformance::CaseGraph graph =
        conformance::make_case_graph(layer_, conformance::parse_case(contract_, case_text));
    const abi::LayerCall &call = graph.plan.steps.front().call;
    const auto device = interpreter::make_device(plugins(), subgroup);
    const auto is_edited = [&](const plan::Pipeline &pipeline) {
        return kernels_[pipeline.kernel].spirv == spirv_.data();
    };
    for (uint32_t v = 0; v < contract_.n_variants; ++v) {
        if (std::ranges::none_of(device->pipelines(call, contract_.variants[v].name), is_edited)) continue;
        if (std::string found = fault_of(graph, contract_.variants[v]); !found.empty()) return found;
    }
    return "";
}

std::string EditedLayer::fault() const {
    for (const std::string &text : cases_of(layer_))
        if (std::string found = fault(text); !found.empty()) return found;
    return "";
}

} // namespace test
