// "Did you mean": the name that a misspelled one probably stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina {

// The candidate with the fewest edits from `name` (a letter added, dropped or changed, or two neighbours swapped); the
// first of several. Nothing if it takes more than one edit and more than a third of the name's length.
[[nodiscard]] std::optional<std::string> nearest(std::string_view name, const std::vector<std::string> &candidates);

// The end of an error about an unknown name: "; did you mean 'heads'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view name, const std::vector<std::string> &candidates);

// The same, or the candidates if none is near: "; there are x, y and z". Of many, only the first are listed.
[[nodiscard]] std::string instead_of(std::string_view name, const std::vector<std::string> &candidates);

// The keys of a map (or the elements of a set) of names, as candidates.
template <class Names> [[nodiscard]] std::vector<std::string> names_of(const Names &names) {
    std::vector<std::string> out;
    for (const auto &entry : names) {
        if constexpr (requires { entry.first; })
            out.emplace_back(entry.first);
        else
            out.emplace_back(entry);
    }
    return out;
}

} // namespace lamina
