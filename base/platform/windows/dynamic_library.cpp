#include "base/dynamic_library.hpp"

#include "platform/windows/error.hpp"

#include <memory>

#include <aclapi.h>

namespace lamina {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> file_of(HMODULE module) {
    std::wstring name(32768, L'\0'); // the longest that a path can be
    const DWORD length = GetModuleFileNameW(module, name.data(), static_cast<DWORD>(name.size()));
    if (length == 0 || length == name.size()) return std::nullopt;
    return fs::path(name.substr(0, length));
}

struct Free {
    void operator()(void *memory) const { LocalFree(memory); }
};

// Groups that nobody has to be let into.
bool is_everyone(PSID group) {
    for (const WELL_KNOWN_SID_TYPE each : {WinWorldSid, WinAuthenticatedUserSid, WinBuiltinUsersSid})
        if (IsWellKnownSid(group, each) != 0) return true;
    return false;
}

} // namespace

const std::string library_ending = ".dll";
const char path_list_separator = ';';

// The current folder is never searched: neither for the library nor for those that it needs.
DynamicLibrary open_library(const fs::path &path) {
    const bool is_name = !path.has_parent_path();
    const fs::path file = is_name ? path : fs::absolute(path).make_preferred();
    const DWORD where = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (is_name ? 0 : LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR);
    if (HMODULE handle = LoadLibraryExW(file.c_str(), nullptr, where)) return {handle, {}, false};
    const DWORD error = GetLastError();
    const bool no_memory =
        error == ERROR_NOT_ENOUGH_MEMORY || error == ERROR_OUTOFMEMORY || error == ERROR_COMMITMENT_LIMIT;
    return {nullptr, file.string() + ": " + words_of(error), no_memory};
}

void *symbol_in(void *library, const char *name) {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::optional<fs::path> library_with(const void *address) {
    HMODULE module = nullptr;
    constexpr DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (GetModuleHandleExW(how, static_cast<const wchar_t *>(address), &module) == 0) return std::nullopt;
    return file_of(module);
}

std::optional<fs::path> this_program() { return file_of(nullptr); }

bool writable_by_everyone(const fs::path &path) {
    PACL rules = nullptr;
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    if (GetNamedSecurityInfoW(path.c_str(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr, nullptr, &rules,
                              nullptr, &descriptor) != ERROR_SUCCESS)
        return false;
    const std::unique_ptr<void, Free> owner(descriptor);
    if (rules == nullptr) return true; // no rules at all
    for (DWORD i = 0; i < rules->AceCount; ++i) {
        void *rule = nullptr;
        if (GetAce(rules, i, &rule) == 0) continue;
        auto *allowed = static_cast<ACCESS_ALLOWED_ACE *>(rule);
        const bool applies = allowed->Header.AceType == ACCESS_ALLOWED_ACE_TYPE &&
                             (allowed->Header.AceFlags & INHERIT_ONLY_ACE) == 0 && is_everyone(&allowed->SidStart);
        constexpr DWORD writing =
            FILE_WRITE_DATA | FILE_APPEND_DATA | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
        if (applies && (allowed->Mask & writing) != 0) return true;
    }
    return false;
}

} // namespace lamina
