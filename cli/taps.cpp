#include "taps.hpp"

#include "base/nearest.hpp"
#include "base/wildcard.hpp"

#include <lamina/npy.hpp>
#include <lamina/texts.hpp>

#include <filesystem>
#include <set>

namespace lamina::cli {
namespace {

std::string with_name(std::string file, const std::string &name) {
    const size_t at = file.find('*');
    return at == std::string::npos ? file : file.replace(at, 1, name);
}

// The same for all spellings of a file's path, whether the file exists or not.
std::filesystem::path identity_of(const std::filesystem::path &file) {
    std::error_code failed; // if something is wrong with the path, writing to it gives a better error
    const std::filesystem::path whole = std::filesystem::absolute(file, failed);
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(whole, failed);
    return failed ? whole.lexically_normal() : canonical;
}

} // namespace

bool is_pattern(const std::string &name) { return name.find_first_of("*?[") != std::string::npos; }

Taps::Taps(const std::vector<std::string> &arguments) {
    for (const std::string &argument : arguments) {
        const size_t equals = argument.find('=');
        Tap tap{argument.substr(0, equals), equals == std::string::npos ? "" : argument.substr(equals + 1)};
        if (tap.pattern.empty() || (equals != std::string::npos && tap.file.empty()))
            throw Error(ErrorCode::usage, "--tap " + argument + ": expected NAME or NAME=FILE.npy");
        if (is_pattern(tap.pattern) && !tap.file.empty() && tap.file.find('*') == std::string::npos)
            throw Error(ErrorCode::usage, "--tap " + argument +
                                              ": several tensors cannot go to one file: put a '*' into its name, " +
                                              "which becomes the tensor's name");
        taps_.push_back(std::move(tap));
    }
}

std::vector<std::string> Taps::patterns() const {
    std::vector<std::string> out;
    for (const Tap &tap : taps_) out.push_back(tap.pattern);
    return out;
}

TensorMap Taps::of_texts(Session &session, const std::vector<std::string> &texts) const {
    TensorMap out;
    std::vector<bool> found(taps_.size());
    std::vector<std::string> names;
    for (const auto &[graph, inputs] : graph_runs(session, texts))
        for (auto &[name, tensor] : session.run(graph, inputs, {"*"})) {
            names.push_back(name);
            for (size_t i = 0; i < taps_.size(); ++i)
                if (matches(taps_[i].pattern, name)) out[name] = tensor, found[i] = true;
        }
    for (size_t i = 0; i < taps_.size(); ++i)
        if (!found[i])
            throw Error(ErrorCode::input, "--tap: the model has no tensor '" + taps_[i].pattern + "'" +
                                              instead_of(taps_[i].pattern, names));
    return out;
}

std::vector<Destination> Taps::destinations(const std::vector<std::string> &names) const {
    std::vector<Destination> out;
    for (const Tap &tap : taps_)
        for (const std::string &name : names)
            if (!tap.file.empty() && matches(tap.pattern, name)) out.push_back({name, with_name(tap.file, name)});
    return out;
}

std::vector<std::string> tensor_names(const ModelGraph &graph) {
    std::set<std::string> names;
    for (const ModelLayer &layer : graph.layers)
        for (const ModelTensor &output : layer.outputs) names.insert(output.name);
    for (const auto &[name, tensor] : graph.outputs) names.insert(name);
    return {names.begin(), names.end()};
}

void refuse_shared_files(const std::vector<Destination> &destinations) {
    std::map<std::filesystem::path, std::string> taken;
    for (const auto &[tensor, file] : destinations) {
        const auto [first, fresh] = taken.emplace(identity_of(file), tensor);
        if (!fresh && first->second != tensor)
            throw Error(ErrorCode::usage, "'" + first->second + "' and '" + tensor + "' would both be written to " +
                                              file + ": give each its own file");
    }
}

Assignments write(const std::vector<Destination> &destinations, const TensorMap &tensors, Output &output) {
    Assignments files;
    std::set<std::string> written; // several taps may name the same tensor and file
    for (const auto &[tensor, file] : destinations) {
        if (!written.insert(file).second) continue;
        write_npy(file, tensors.at(tensor));
        output.note("wrote " + file);
        files[tensor] = file;
    }
    return files;
}

} // namespace lamina::cli
