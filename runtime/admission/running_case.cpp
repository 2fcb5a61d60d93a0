#include "admission/running_case.hpp"

#include "base/file.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <random>

namespace lamina::admission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char *infix = ".case-";
constexpr const char *unfinished = ".new";

// Random: several processes share the folder, and their ids may be equal.
fs::path unused_name(const fs::path &verdicts) {
    std::random_device random;
    char number[20];
    std::snprintf(number, sizeof number, "%08x%08x", random(), random());
    return verdicts.string() + infix + number;
}

void discard(const fs::path &file) {
    std::error_code ignored;
    fs::remove(file, ignored);
}

CaseName read(const fs::path &file) {
    const std::vector<std::byte> bytes = read_file(file, 1u << 20, FileReader::Kind::ordinary);
    const Json json = Json::parse(reinterpret_cast<const char *>(bytes.data()),
                                  reinterpret_cast<const char *>(bytes.data()) + bytes.size());
    return {json.at("layer").get<std::string>(), json.at("variant").get<std::string>(),
            json.at("case").get<std::string>()};
}

} // namespace

RunningCase::RunningCase(const fs::path &verdicts, const CaseName &name) {
    if (verdicts.empty()) return;
    const fs::path file = unused_name(verdicts), made = file.string() + unfinished;
    const Json json{{"layer", name.layer}, {"variant", name.variant}, {"case", name.text}};
    std::error_code error;
    fs::create_directories(verdicts.parent_path(), error);
    lock_.emplace(made, FileLock::Open::fresh);
    // Nobody sees it before it is locked and whole.
    if (lock_->held() && lock_->write(json.dump() + "\n")) fs::rename(made, file, error);
    if (fs::exists(file, error))
        file_ = file;
    else
        discard(made);
}

RunningCase::~RunningCase() {
    if (!file_.empty()) discard(file_); // before the lock is freed
}

std::vector<Death> deaths_beside(const fs::path &verdicts) {
    const std::string prefix = verdicts.filename().string() + infix;
    std::vector<Death> out;
    std::error_code error;
    for (fs::directory_iterator at(verdicts.parent_path(), error), end; !error && at != end; at.increment(error)) {
        const fs::path &file = at->path();
        if (!file.filename().string().starts_with(prefix)) continue;
        const FileLock lock(file, FileLock::Open::existing);
        if (!lock.held() || lock.removed()) continue; // its process lives, or has just finished the case
        if (file.extension() == unfinished) {
            const auto age = fs::file_time_type::clock::now() - fs::last_write_time(file, error);
            if (age > std::chrono::minutes(1)) discard(file); // a younger one may be about to be locked
            continue;
        }
        try {
            out.push_back({read(file), file});
        } catch (const std::exception &) { // whoever wrote it: it says nothing
            discard(file);
        }
    }
    return out;
}

} // namespace lamina::admission
