#include "corpus.hpp"

#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "base/open_file.hpp"
#include "base/standard_streams.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace lamina::cli {
namespace {

bool is_stdin(const std::filesystem::path &file) { return file == "-"; }

int opened(const std::filesystem::path &file, bool &ordinary) {
    if (is_stdin(file)) return standard_input;
    const OpenFile out = open_to_read(file, true);
    if (out.number < 0) throw Error(ErrorCode::input, file.string() + ": " + std::strerror(errno));
    ordinary = out.kind == FileKind::ordinary;
    if (out.kind != FileKind::folder) return out.number;
    (void)close_file(out.number);
    throw Error(ErrorCode::input, file.string() + ": expected a file with a text on each line, found a folder");
}

std::string field_for(const std::filesystem::path &file, const std::string &given) {
    const std::string ending = file.extension().string();
    return given.empty() && (ending == ".jsonl" || ending == ".ndjson") ? "text" : given;
}

} // namespace

Corpus::Corpus(const std::filesystem::path &file, const std::string &field)
    : name_(is_stdin(file) ? "stdin" : file.string()), field_(field_for(file, field)), file_(opened(file, ordinary_)),
      lines_(file_, OnError::stop, name_) {}

Corpus::~Corpus() {
    if (file_ != standard_input && file_ >= 0) (void)close_file(file_);
}

std::vector<std::string> Corpus::next(size_t count) {
    first_ = read_ + 1;
    std::vector<std::string> out;
    while (out.size() < count) {
        std::vector<std::string> some = lines_.next(count - out.size());
        if (some.empty()) break;
        for (std::string &line : some) {
            ++read_;
            out.push_back(field_.empty() ? std::move(line) : text_of(line, read_));
        }
    }
    return out;
}

void Corpus::refuse(size_t i, const std::string &why) const {
    throw Error(ErrorCode::input, name_ + ", line " + std::to_string(first_ + i) + ": " + why);
}

std::string Corpus::text_of(const std::string &line, size_t number) const {
    const JsonText json(line, name_ + ", line " + std::to_string(number));
    return std::string(json.root().is_string() ? json.root().string() : json.root().at(field_).string());
}

size_t Corpus::count_lines() const {
    if (!ordinary_) return 0;
    FileReader reader(name_);
    constexpr uint64_t at_once = 1 << 20;
    size_t out = 0;
    bool ended = true; // the last line
    for (auto bytes = reader.read(at_once); !bytes.empty(); bytes = reader.read(at_once)) {
        out += static_cast<size_t>(std::ranges::count(bytes, std::byte{'\n'}));
        ended = bytes.back() == std::byte{'\n'};
    }
    return out + (ended ? 0 : 1);
}

std::optional<std::string> prompt_for(const ModelContents &model, const std::optional<std::string> &given,
                                      std::initializer_list<const char *> names) {
    if (given || !model.reading) return given;
    for (const char *name : names)
        if (model.reading->prompts.count(name) != 0) return name;
    return std::nullopt;
}

} // namespace lamina::cli
