#include "partial_vectors.hpp"

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "output.hpp"

#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

namespace lamina::cli {
namespace {

constexpr size_t header_bytes = 128; // enough for any number of rows

std::filesystem::path with_ending(std::filesystem::path file, const char *ending) { return file += ending; }

// As numpy.lib.format describes version 1.
std::string npy_header(size_t rows, size_t width) {
    std::string out("\x93NUMPY\x01\x00\x76\x00", 10);
    static_assert(header_bytes == 10 + 0x76);
    out += "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " + std::to_string(width) +
           "), }";
    out.resize(header_bytes - 1, ' ');
    return out + '\n';
}

} // namespace

PartialVectors::PartialVectors(const std::filesystem::path &output, Settings settings, size_t width)
    : output_(ordinary_file(output, "--output")), part_(with_ending(output_, ".part")),
      state_(with_ending(part_, ".json")), settings_(std::move(settings)), width_(width) {
    std::error_code ignored;
    if (!std::filesystem::exists(part_, ignored) || !std::filesystem::exists(state_, ignored)) {
        restart();
        return;
    }
    read_state();
    if (!why_not_.empty()) return;
    // What was written after the state was, does not count.
    const uint64_t bytes = header_bytes + uint64_t{rows_} * width_ * sizeof(float);
    if (std::filesystem::file_size(part_, ignored) < bytes || ignored) {
        why_not_ = "it is shorter than its " + std::to_string(rows_) + " vectors";
        return;
    }
    file_.open(part_, std::ios::in | std::ios::out | std::ios::binary);
    expect_good("open");
}

PartialVectors::~PartialVectors() {
    if (rows_ > 0 || !file_.is_open()) return;
    file_.close();
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);
}

void PartialVectors::read_state() {
    const std::vector<std::byte> bytes = read_file(state_, 1 << 20);
    const JsonText json({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, state_.string());
    const JsonView state = json.root();
    rows_ = static_cast<size_t>(state.at("rows").integer(0, INT64_MAX));
    const std::string_view hash = state.at("texts").string();
    if (std::from_chars(hash.data(), hash.data() + hash.size(), texts_, 16).ec != std::errc())
        state.at("texts").fail("expected a hexadecimal number");
    const auto expect = [&](const std::string &name, const std::string &wanted, const std::string &found) {
        if (why_not_.empty() && wanted != found) why_not_ = name + ": expected '" + wanted + "', found '" + found + "'";
    };
    const JsonView of = state.at("of");
    for (const auto &[name, value] : settings_)
        expect(name, value, of.has(name) ? std::string(of.at(name).string()) : "");
    expect("width", std::to_string(width_), std::to_string(state.at("width").integer(0, INT64_MAX)));
}

std::vector<float> PartialVectors::first_row() {
    std::vector<float> out(width_);
    file_.seekg(header_bytes);
    file_.read(reinterpret_cast<char *>(out.data()), static_cast<std::streamsize>(width_ * sizeof(float)));
    expect_good("read");
    return out;
}

void PartialVectors::restart() {
    std::error_code ignored;
    std::filesystem::remove(state_, ignored); // first: without it, nothing is made of the rest
    if (file_.is_open()) file_.close();
    file_.clear();
    file_.open(part_, std::ios::in | std::ios::out | std::ios::binary | std::ios::trunc);
    rows_ = 0, texts_ = no_texts;
    why_not_.clear();
    write_header();
}

void PartialVectors::append(const Tensor &vectors, uint64_t texts) {
    file_.seekp(static_cast<std::streamoff>(header_bytes + rows_ * width_ * sizeof(float)));
    file_.write(reinterpret_cast<const char *>(vectors.bytes().data()),
                static_cast<std::streamsize>(vectors.bytes().size()));
    file_.flush();
    expect_good("write");
    rows_ += static_cast<size_t>(vectors.shape().front());
    texts_ = texts;
    write_state();
}

void PartialVectors::finish() {
    write_header();
    file_.close();
    expect_good("write");
    std::error_code why;
    std::filesystem::resize_file(part_, header_bytes + uint64_t{rows_} * width_ * sizeof(float), why);
    if (!why) std::filesystem::rename(part_, output_, why);
    if (why) throw Error(ErrorCode::failure, "cannot write " + output_.string() + ": " + why.message());
    std::filesystem::remove(state_, why);
}

uint64_t PartialVectors::hash_with(uint64_t hash, std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return (hash ^ 0xffu) * 0x100000001b3ull; // no byte of UTF-8 is that
}

void PartialVectors::write_header() {
    file_.seekp(0);
    file_ << npy_header(rows_, width_);
    file_.flush();
    expect_good("write");
}

void PartialVectors::write_state() const {
    Json of = Json::object();
    for (const auto &[name, value] : settings_) of[name] = value;
    std::string hash(16, '0');
    hash.resize(
        static_cast<size_t>(std::to_chars(hash.data(), hash.data() + hash.size(), texts_, 16).ptr - hash.data()));
    const Json state{{"rows", rows_}, {"width", width_}, {"texts", hash}, {"of", std::move(of)}};
    write_file(state_, state.in_lines(2) + "\n");
}

void PartialVectors::expect_good(const char *what) {
    const std::error_code why(errno, std::generic_category()); // of the system's call that failed last
    if (file_.fail())
        throw Error(ErrorCode::failure, std::string("cannot ") + what + " " + part_.string() + ": " + why.message());
}

} // namespace lamina::cli
