#include "generation/room.hpp"

#include "generation/generation_shapes.hpp"
#include "generation/sequences.hpp"

#include <algorithm>

namespace lamina::generation {
namespace {

struct Need {
    uint64_t caches;
    bool fits;
};

double bytes_of(const std::vector<plan::MemoryRequest> &requests) {
    return static_cast<double>(plan::total_bytes(requests));
}

Need need_of(detail::SessionState &session, size_t texts, size_t length, uint64_t promised) {
    const model::Model &model = *session.model;
    const auto plan = [&](size_t rows, size_t tokens) {
        plan::GraphShapes shapes = decode_shapes(*model.generation, TensorMap(), rows, tokens, length);
        shapes.state_dtype = session.options.cache;
        return plan::plan_graph(model, model.graphs.at(model.generation->decode), *session.runtime->plugins, shapes);
    };
    const size_t rows = rounded_rows(texts);
    const plan::GraphPlan step = plan(rows, 1);
    const plan::MemoryNeed of_step = session.backend->need(step),
                           of_block = session.backend->need(plan(1, std::min(longest_block, length)));
    double weights = bytes_of(of_step.weights);
    // Those that are read where they are mapped could be read again, at every step: they are to stay.
    if (session.device.kind == "cpu") weights += bytes_of(plan::need_of(step).weights);
    // When caches grow, those of half the length are still there; a prompt that joins others has one of its own.
    const double caches = bytes_of(of_step.states),
                 beside = caches / 2 + (rows == 1 ? 0 : caches / static_cast<double>(rows));
    // A block of prompts may have as many tokens again, of rows that only rest.
    const double all =
        weights + caches + beside + bytes_of(of_step.others) + 2 * bytes_of(of_block.others) + double(promised);
    constexpr double usable = 0.9; // of what is free: variants need scratch, and others memory
    return {plan::total_bytes(of_step.states), !of_step.free || all <= usable * static_cast<double>(*of_step.free)};
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
