// The tokens that a caller chooses by name: GenerateOptions::choices.
#pragma once

#include "model/model.hpp"

#include <lamina/lamina.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace lamina::generation {

using model::Ids;

struct ChosenTokens {
    struct OfSource {
        const model::TokenChoice *choice;
        int32_t id;
    };
    std::vector<Ids> start;         // the tokens.start of the model, with what was chosen in it
    std::optional<int32_t> first{}; // that the model writes
    std::vector<OfSource> source{};

    void put_into(Ids &source_ids) const;
};

// Throws Error(usage) for a choice that the model does not have.
[[nodiscard]] ChosenTokens chosen_tokens(const model::Model &model, const GenerateOptions &options);

} // namespace lamina::generation
