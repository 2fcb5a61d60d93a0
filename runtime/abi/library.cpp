#include "abi/library.hpp"

#include "abi/descriptor.hpp"
#include "abi/file.hpp"
#include "abi/nearest.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace lamina::abi {
namespace {

namespace fs = std::filesystem;

// FNV-1a: tells builds of a plugin apart; no defence against an author who wants a collision.
uint64_t hash_of(std::span<const std::byte> bytes) {
    uint64_t h = 14695981039346656037ull;
    for (const std::byte b : bytes) h = (h ^ static_cast<uint64_t>(b)) * 1099511628211ull;
    return h;
}

bool world_writable(const fs::path &path) {
    struct stat s {};
    return stat(path.c_str(), &s) == 0 && (s.st_mode & S_IWOTH) != 0 && (s.st_mode & S_ISVTX) == 0;
}

// RTLD_LOCAL: plugins do not see each other's symbols. Never closed: descriptors and code live as long as the process.
const lamina_prefix *query(const fs::path &path, std::string &fault) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        fault = dlerror();
        return nullptr;
    }
    void *symbol = dlsym(library, "lamina_plugin_query");
    if (symbol == nullptr) {
        fault = "it exports no lamina_plugin_query: not a Lamina plugin";
        return nullptr;
    }
    decltype(&lamina_plugin_query) entry = nullptr;
    std::memcpy(&entry, &symbol, sizeof entry);
    const lamina_prefix *prefix = entry(LAMINA_ABI_MAJOR, LAMINA_ABI_MINOR);
    if (prefix == nullptr) {
        fault = "it does not serve plugin ABI " + std::to_string(LAMINA_ABI_MAJOR) + "." +
                std::to_string(LAMINA_ABI_MINOR) + ": rebuild it against this version's headers";
        return nullptr;
    }
    fault = fault_of_prefix(*prefix);
    return fault.empty() ? prefix : nullptr;
}

std::vector<fs::path> libraries_in(const fs::path &folder) {
    std::error_code error;
    std::vector<fs::path> out;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("lamina_") && entry.path().extension() == ".so") out.push_back(entry.path());
    }
    if (error) throw Error(ErrorCode::plugin, "plugin folder " + folder.string() + ": " + error.message());
    std::sort(out.begin(), out.end());
    return out;
}

// Where plugins lie beside the program that this code is linked into: the build tree's lib/lamina/plugins, or the
// install's. LAMINA_INSTALL_PLUGINS is relative to the prefix.
std::vector<fs::path> own_folders() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error) return {};
    const fs::path prefix = program.parent_path().parent_path();
    std::vector<fs::path> out;
    for (const fs::path &relative : {fs::path("lib/lamina/plugins"), fs::path(LAMINA_INSTALL_PLUGINS)})
        if (fs::is_directory(prefix / relative, error)) return {prefix / relative};
    return out;
}

} // namespace

const lamina_cpu_kernel *Executor::kernel(std::string_view layer) const {
    for (uint32_t i = 0; i < descriptor->n_kernels; ++i)
        if (layer == descriptor->kernels[i].layer) return &descriptor->kernels[i];
    return nullptr;
}

std::vector<fs::path> Registry::search_path(const std::vector<fs::path> &first) {
    std::vector<fs::path> out = first;
    if (const char *variable = std::getenv("LAMINA_PLUGIN_PATH")) {
        std::string_view rest = variable;
        while (!rest.empty()) {
            const std::string_view part = rest.substr(0, rest.find(':'));
            if (!part.empty()) out.emplace_back(part);
            rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        }
    }
    for (fs::path &folder : own_folders()) out.push_back(std::move(folder));
    return out;
}

std::shared_ptr<const Registry> Registry::discover(const std::vector<fs::path> &folders) {
    auto registry = std::make_shared<Registry>();
    std::map<std::string, size_t>
        folder_of; // of each layer: a later folder's twin is hidden, one in the same is a fault
    for (size_t f = 0; f < folders.size(); ++f) {
        if (world_writable(folders[f]))
            throw Error(ErrorCode::plugin, "plugin folder " + folders[f].string() +
                                               " is writable by every user: code from it is not loaded; chmod o-w it");
        for (const fs::path &path : libraries_in(folders[f])) {
            const auto reject = [&](const std::string &why) { registry->rejected_.push_back({path, why}); };
            if (world_writable(path)) {
                reject("it is writable by every user: chmod o-w it");
                continue;
            }
            std::string fault;
            const lamina_prefix *prefix = query(path, fault);
            if (prefix == nullptr) {
                reject(fault);
            } else if (prefix->kind == LAMINA_EXECUTOR) {
                const auto *executor = reinterpret_cast<const lamina_executor *>(prefix);
                fault = fault_of(*executor);
                if (fault.empty() && registry->executor_ != nullptr)
                    fault = "there is an executor already: " + registry->executor_->path.string();
                if (!fault.empty())
                    reject(fault);
                else
                    registry->executor_ = std::make_unique<Executor>(Executor{executor, path});
            } else {
                const auto *layer = reinterpret_cast<const lamina_layer *>(prefix);
                fault = fault_of(*layer);
                if (!fault.empty()) {
                    reject(fault);
                    continue;
                }
                const auto [it, fresh] = registry->layers_.try_emplace(layer->id, Layer{layer, path, 0});
                if (fresh) {
                    it->second.hash = hash_of(read_file(path));
                    folder_of[layer->id] = f;
                } else if (folder_of[layer->id] == f) {
                    const std::string id = layer->id;
                    const fs::path other = it->second.path;
                    reject("layer '" + id + "' is also in " + other.string());
                    registry->rejected_.push_back({other, "layer '" + id + "' is also in " + path.string()});
                    registry->layers_.erase(it);
                } else {
                    reject("layer '" + it->first + "' comes from " + it->second.path.string() +
                           ", which is searched first");
                }
            }
        }
    }
    return registry;
}

const Layer &Registry::layer(std::string_view id) const {
    const auto it = layers_.find(id);
    if (it != layers_.end()) return it->second;
    std::string message = "no plugin provides the layer '" + std::string(id) + "'";
    std::vector<std::string> names;
    for (const auto &[name, layer] : layers_) names.push_back(name);
    if (const auto guess = nearest(id, names)) message += "; did you mean '" + *guess + "'?";
    for (const Rejected &r : rejected_)
        if (r.path.stem() == "lamina_" + std::string(id))
            message += "; " + r.path.string() + " was refused: " + r.reason;
    if (layers_.empty()) message += "; no plugins were found at all: give --plugin-dir or LAMINA_PLUGIN_PATH";
    throw Error(ErrorCode::plugin, message);
}

} // namespace lamina::abi
