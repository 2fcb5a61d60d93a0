#include "generation/room.hpp"

#include "generation/generation_shapes.hpp"
#include "generation/sequences.hpp"
#include "generation/texts.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

namespace lamina::generation {
namespace {

struct Need {
    uint64_t caches;
    bool fits;
};

double bytes_of(const std::vector<plan::MemoryRequest> &requests) {
    return static_cast<double>(plan::total_bytes(requests));
}

// Of a step that takes so many tokens in each row, with caches of this length.
std::vector<plan::MemoryNeed> needs_of_step(detail::SessionState &session, size_t rows, size_t tokens, size_t length) {
    const model::Model &model = *session.model;
    plan::GraphShapes shapes = decode_shapes(*model.generation, TensorMap(), rows, tokens, length);
    shapes.state_dtype = session.options.cache;
    return session.backend().need(
        plan::plan_graph(model, model.graphs.at(model.generation->decode), *session.runtime->plugins, shapes));
}

// What a draft takes on its devices, by their ids, for a text of this length.
std::map<std::string, double> needs_of_draft(detail::SessionState &draft, size_t length) {
    const std::scoped_lock turn(draft.turn);
    draft.connect();
    length = std::min(length, longest_target(*draft.model));
    std::map<std::string, double> out;
    for (const plan::MemoryNeed &here : needs_of_step(draft, 1, std::min(longest_block, length), length))
        out[draft.places[here.place].device.id] += bytes_of(here.weights) + static_cast<double>(here.mapped) +
                                                   1.5 * bytes_of(here.states) + bytes_of(here.others);
    return out;
}

Need need_of(detail::SessionState &session, size_t texts, size_t length, uint64_t promised) {
    const size_t rows = rounded_rows(texts);
    const std::vector<plan::MemoryNeed> of_step = needs_of_step(session, rows, 1, length),
                                        of_block = needs_of_step(session, 1, std::min(longest_block, length), length);
    std::map<std::string, double> of_draft;
    if (session.draft != nullptr) of_draft = needs_of_draft(*session.draft, length);
    Need out{0, true};
    for (size_t i = 0; i < of_step.size(); ++i) {
        const plan::MemoryNeed &here = of_step[i];
        // Weights that are read where they are mapped could be read again, at every step: they are to stay.
        const double weights = bytes_of(here.weights) + static_cast<double>(here.mapped);
        // When caches grow, those of half the length are still there; a prompt that joins others has one of its own.
        const double caches = bytes_of(here.states),
                     beside = caches / 2 + (rows == 1 ? 0 : caches / static_cast<double>(rows));
        // A block of prompts may have as many tokens again, of rows that only rest.
        const auto block = std::ranges::find(of_block, here.place, &plan::MemoryNeed::place);
        const double blocks = block == of_block.end() ? 0 : 2 * bytes_of(block->others);
        // What is promised to others is spread over the devices as caches are: no more than all of it is on one.
        const double all = weights + caches + beside + bytes_of(here.others) + blocks +
                           of_draft[session.places[here.place].device.id] + static_cast<double>(promised);
        constexpr double usable = 0.9; // of what is free: variants need scratch, and others memory
        out.caches += plan::total_bytes(here.states);
        out.fits =
            out.fits && here.unbound() == nullptr && (!here.free || all <= usable * static_cast<double>(*here.free));
    }
    return out;
}

} // namespace

Room room_for(detail::SessionState &session, size_t texts, size_t length, uint64_t promised) {
    session.connect();
    while (true) {
        const Need need = need_of(session, texts, length, promised);
        if (need.fits || (texts == 1 && length <= first_capacity)) return {texts, length, need.caches};
        if (texts > 1)
            texts = rounded_rows(texts) / 2;
        else
            length = std::max(length / 2, std::min(length, first_capacity));
    }
}

} // namespace lamina::generation
