#include "abi/library.hpp"

#include "abi/contract.hpp"
#include "abi/descriptor.hpp"
#include "abi/pattern.hpp"
#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "base/own_files.hpp"

#include <lamina/plugin/dtype.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <span>

namespace lamina::abi {
namespace {

namespace fs = std::filesystem;

struct Loaded {
    void *library = nullptr; // null if it cannot be used
    uint64_t hash = 0;       // of the bytes that it was loaded from
};

std::vector<std::byte> bytes_of(const fs::path &path) { return read_file(path, 1u << 30, FileReader::Kind::ordinary); }

// If a library is already loaded, its code stays, even if the file has been replaced, and so does the first hash. The
// file is read before and after loading: if it changed in between, it is not known which build runs in this process.
// Throws Error(memory): the library is not at fault.
Loaded load_library(const fs::path &path, std::string &fault) {
    static std::mutex mutex;
    static std::map<void *, std::optional<uint64_t>> hashes;
    const std::lock_guard lock(mutex);
    try {
        const uint64_t before = hash_of(bytes_of(path));
        const DynamicLibrary library = open_library(path);
        if (library.no_memory)
            throw Error(ErrorCode::memory, "memory has no room for the plugin " + path.string() + ": " + library.fault);
        if (library.handle == nullptr) {
            fault = library.fault;
            return {};
        }
        const auto [known, fresh] = hashes.try_emplace(library.handle);
        if (fresh && hash_of(bytes_of(path)) == before) known->second = before;
        if (known->second) return {library.handle, *known->second};
        fault = "it was replaced while it was being loaded: restart the program";
    } catch (const Error &e) {
        if (e.code() == ErrorCode::memory) throw;
        fault = e.what();
    }
    return {};
}

const lamina_prefix *query(void *library, std::string &fault) {
    void *symbol = symbol_in(library, "lamina_plugin_query");
    if (symbol == nullptr) {
        fault = "it exports no lamina_plugin_query: not a Lamina plugin";
        return nullptr;
    }
    decltype(&lamina_plugin_query) entry = nullptr;
    std::memcpy(&entry, &symbol, sizeof entry);
    const lamina_prefix *prefix = entry(LAMINA_ABI_MAJOR, LAMINA_ABI_MINOR);
    if (prefix == nullptr) {
        fault = "it does not support plugin ABI " + std::to_string(LAMINA_ABI_MAJOR) + "." +
                std::to_string(LAMINA_ABI_MINOR) + ": rebuild it against this version's headers";
        return nullptr;
    }
    fault = fault_of_prefix(*prefix);
    return fault.empty() ? prefix : nullptr;
}

std::vector<fs::path> libraries_in(const fs::path &folder) {
    if (folder.empty()) throw Error(ErrorCode::plugin, "a folder of plugins: expected its path, found an empty text");
    std::error_code error;
    std::vector<fs::path> out;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("lamina_") && entry.path().extension() == library_ending) out.push_back(entry.path());
    }
    if (error == std::errc::not_enough_memory) throw std::bad_alloc();
    if (error) throw Error(ErrorCode::plugin, "plugin folder " + folder.string() + ": " + error.message());
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace

std::vector<CpuVariant> Executor::variants(const lamina_layer &contract) const {
    constexpr uint32_t known = LAMINA_F32 | LAMINA_F16 | LAMINA_BF16 | LAMINA_Q8_0;
    const std::span tolerances(contract.tolerances, contract.n_tolerances);
    std::vector<CpuVariant> out;
    for (const lamina_cpu_kernel &kernel : std::span(descriptor->kernels, descriptor->n_kernels)) {
        if (std::string_view(contract.id) != kernel.layer || signature(contract) != kernel.signature) continue;
        const uint32_t arithmetic = kernel.arithmetic == 0 ? uint32_t{LAMINA_F32} : kernel.arithmetic;
        if ((arithmetic & known) == 0) continue; // of a later version
        if (std::ranges::find(tolerances, arithmetic, &lamina_tolerance::arithmetic) == tolerances.end()) continue;
        std::string name = descriptor->id;
        if (arithmetic != LAMINA_F32) name += std::string("_") + plugin::storage_type(arithmetic).name;
        if (std::ranges::find(out, name, &CpuVariant::name) == out.end())
            out.push_back({std::move(name), arithmetic, &kernel});
    }
    std::ranges::sort(out, {}, &CpuVariant::arithmetic); // the less exact, the greater
    return out;
}

std::vector<fs::path> Registry::search_path(const std::vector<fs::path> &first) {
    std::vector<fs::path> out = first;
    if (const char *variable = std::getenv("LAMINA_PLUGIN_PATH")) {
        std::string_view rest = variable;
        while (!rest.empty()) {
            const std::string_view part = rest.substr(0, rest.find(path_list_separator));
            if (!part.empty()) out.emplace_back(part);
            rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        }
    }
    if (auto own = own_file("plugins")) out.push_back(std::move(*own));
    return out;
}

// Fills a registry, library by library.
class Registry::Finder {
  public:
    explicit Finder(Registry &registry) : registry_(registry) {}

    void search(const fs::path &folder) {
        ++folder_;
        if (writable_by_everyone(folder))
            throw Error(ErrorCode::plugin, "plugin folder " + folder.string() +
                                               " is writable by every user: code from it is not loaded; chmod o-w it");
        for (const fs::path &path : libraries_in(folder)) load(path);
    }

    // When all layers are known.
    void read_patterns() {
        auto &layers = registry_.layers_;
        for (auto it = layers.begin(); it != layers.end();) {
            Layer &layer = it->second;
            try {
                if (layer.contract->fuses != nullptr) layer.pattern = read_pattern(*layer.contract, layers);
                ++it;
            } catch (const Error &e) {
                reject(layer.path, e.what());
                it = layers.erase(it); // a fusion is a member of none
            }
        }
    }

  private:
    void load(const fs::path &path) {
        std::string fault = "it is writable by every user: chmod o-w it";
        const Loaded loaded = writable_by_everyone(path) ? Loaded{} : load_library(path, fault);
        const lamina_prefix *prefix = loaded.library == nullptr ? nullptr : query(loaded.library, fault);
        if (prefix == nullptr)
            reject(path, fault);
        else if (prefix->kind == LAMINA_EXECUTOR)
            add(*reinterpret_cast<const lamina_executor *>(prefix), path, loaded.hash);
        else
            add(*reinterpret_cast<const lamina_layer *>(prefix), path, loaded.hash);
    }

    void add(const lamina_executor &executor, const fs::path &path, uint64_t hash) {
        std::string fault = fault_of_sizes(executor);
        const auto own = fault.empty() ? read_contract(executor) : nullptr;
        if (fault.empty()) fault = fault_of(*own);
        if (fault.empty() && registry_.executor_ != nullptr)
            fault = "another executor is already loaded: " + registry_.executor_->path.string();
        if (!fault.empty()) return reject(path, fault);
        registry_.executor_ = std::make_unique<Executor>(Executor{own, path, hash});
    }

    void add(const lamina_layer &layer, const fs::path &path, uint64_t hash) {
        if (const std::string fault = fault_of_sizes(layer); !fault.empty()) return reject(path, fault);
        const auto own = read_contract(layer);
        if (const std::string fault = fault_of(*own); !fault.empty()) return reject(path, fault);
        const std::string id = own->id;
        const auto known = registry_.layers_.find(id);
        if (known == registry_.layers_.end() && !twice_.contains(id)) {
            registry_.layers_.emplace(id, Layer{own.get(), path, hash, own, nullptr});
            folder_of_[id] = folder_;
        } else if (folder_of_[id] != folder_) {
            reject(path, "layer '" + id + "' was already found in a folder that is searched earlier");
        } else {
            reject(path, "layer '" + id + "' is in this folder twice: neither is used");
            if (known == registry_.layers_.end()) return;
            reject(known->second.path, "layer '" + id + "' is in this folder twice: neither is used");
            registry_.layers_.erase(known);
            twice_.insert(id);
        }
    }

    void reject(const fs::path &path, const std::string &why) { registry_.rejected_.push_back({path, why}); }

    Registry &registry_;
    size_t folder_ = 0;
    std::map<std::string, size_t> folder_of_; // a later folder's duplicate is hidden; one in the same is an error
    std::set<std::string> twice_;
};

std::shared_ptr<const Registry> Registry::discover(const std::vector<fs::path> &folders) {
    auto registry = std::make_shared<Registry>();
    registry->folders_ = folders;
    Finder finder(*registry);
    for (const fs::path &folder : folders) finder.search(folder);
    finder.read_patterns();
    return registry;
}

const Layer &Registry::layer(std::string_view id) const {
    const auto it = layers_.find(id);
    if (it != layers_.end()) return it->second;
    std::string message = "no plugin provides the layer '" + std::string(id) + "'";
    message += instead_of(id, names_of(layers_));
    if (!layers_.empty()) message += "; --plugin-dir and LAMINA_PLUGIN_PATH name folders with more";
    for (const Rejected &r : rejected_)
        if (r.path.stem() == "lamina_" + std::string(id))
            message += "; " + r.path.string() + " was refused: " + r.reason;
    if (layers_.empty()) message += "; no plugins were found at all: give --plugin-dir or LAMINA_PLUGIN_PATH";
    throw Error(ErrorCode::plugin, message);
}

} // namespace lamina::abi
