#include "new_files.hpp"

#include "base/file.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <functional>
#include <set>

namespace lamina::cli {
namespace {

namespace fs = std::filesystem;

const std::set<std::string, std::less<>> keywords{
    // C++20's keywords in lower case
    "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char8_t",
    "char16_t",    "char32_t", "class",      "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq"};

void refuse_occupied(const fs::path &folder) {
    std::error_code error;
    if (fs::symlink_status(folder, error).type() == fs::file_type::not_found) return;
    if (fs::is_directory(folder, error) && fs::is_empty(folder, error) && !error) return;
    throw Error(ErrorCode::usage, folder.string() + " exists, and nothing is overwritten: choose another "
                                                    "name or folder, or remove it");
}

void make_folder(const fs::path &folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw Error(ErrorCode::failure, folder.string() + ": " + error.message());
}

} // namespace

void check_new_name(const std::string &what, const std::string &name) {
    const auto refuse = [&](const std::string &why) {
        throw Error(ErrorCode::usage, what + " cannot be called '" + name + "': " + why);
    };
    constexpr size_t longest = 64;
    const bool spelt = !name.empty() && name.size() <= longest && name.front() >= 'a' && name.front() <= 'z' &&
                       name.back() != '_' && name.find("__") == std::string::npos &&
                       std::all_of(name.begin(), name.end(),
                                   [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
    if (!spelt)
        refuse("expected lower_case words of letters and digits joined by single '_', at most " +
               std::to_string(longest) + " characters, such as 'rms_norm'");
    if (keywords.contains(name)) refuse("the word has a meaning in the generated code");
}

std::string renamed(std::string_view text, const std::string &from, const std::string &to) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t next = std::min(text.find(from, at), text.size());
        out += text.substr(at, next - at);
        if (next < text.size()) out += to;
        at = next + from.size();
    }
    return out;
}

void write_all(const std::string &what, const std::vector<NewFile> &files, const std::vector<fs::path> &folders) {
    for (const fs::path &folder : folders) refuse_occupied(folder);
    try {
        for (const auto &[path, text] : files) {
            make_folder(path.parent_path());
            write_file(path, std::string_view(text));
        }
    } catch (const Error &error) {
        std::error_code ignored;
        for (const fs::path &folder : folders) fs::remove_all(folder, ignored);
        throw Error(error.code(), "no " + what + " was created: " + error.what());
    }
}

} // namespace lamina::cli
