#include "generation/generation.hpp"

#include "generation/search.hpp"

#include <algorithm>
#include <sstream>

namespace lamina::generation {
namespace {

void check_options(const GenerateOptions &o) {
    const auto refuse = [](const char *what, const char *expected, double found) {
        std::ostringstream out;
        out << what << ": expected " << expected << ", found " << found;
        throw Error(ErrorCode::usage, out.str());
    };
    if (o.batch < 1) refuse("batch", "at least 1", static_cast<double>(o.batch));
    if (o.beams < 1 || o.beams > 1024) refuse("beams", "1 to 1024", static_cast<double>(o.beams));
    if (o.hypotheses < 0 || o.hypotheses > o.beams)
        refuse("hypotheses", "0 (one per beam) up to the number of beams", static_cast<double>(o.hypotheses));
    if (!(o.temperature >= 0 && o.temperature <= 1e6)) refuse("temperature", "0 (greedy) or above", o.temperature);
    if (!(o.top_p > 0 && o.top_p <= 1)) refuse("top_p", "above 0, at most 1", o.top_p);
    if (!(o.length_penalty >= -10 && o.length_penalty <= 10)) refuse("length_penalty", "-10 to 10", o.length_penalty);
    if (o.max_length < 0) refuse("max_length", "0 (as the model says) or above", static_cast<double>(o.max_length));
}

// The search task for a batch of texts, given by their numbers.
SearchTask task_of(const model::Model &model, const std::vector<Ids> &ids, std::span<const size_t> batch,
                   size_t positions, const GenerateOptions &options) {
    const model::Generation &g = *model.generation;
    const model::Vocabulary &target = model.vocabularies.at(g.target.vocabulary);
    SearchTask task;
    task.positions = positions;
    task.end = *target.id(g.end);
    task.max_length = static_cast<size_t>(options.max_length != 0 ? options.max_length : g.max_length);
    for (const size_t i : batch) {
        Ids prefix{*target.id(g.start)};
        if (g.encode.empty())
            prefix.insert(prefix.end(), ids[i].begin(), ids[i].end()); // a prompt, to be continued
        else
            task.sources.push_back(ids[i]);
        task.prefixes.push_back(std::move(prefix));
        task.numbers.push_back(options.first + i);
    }
    return task;
}

} // namespace

std::vector<std::vector<Hypothesis>> generate(detail::SessionState &session, const std::vector<std::string> &texts,
                                              const GenerateOptions &options) {
    const model::Model &model = *session.model;
    check_options(options);
    const std::vector<Ids> ids = tokenize(model, *session.runtime->plugins, texts);
    const model::Generation &g = *model.generation;
    const size_t positions = longest_target(model, *session.runtime->plugins);

    // Texts of similar length together, because a batch is as long as its longest text.
    std::vector<size_t> order;
    for (size_t i = 0; i < ids.size(); ++i)
        if (!ids[i].empty() || g.encode.empty()) order.push_back(i); // a prompt may be empty, a source not
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids[a].size() < ids[b].size(); });

    const auto most = static_cast<size_t>(options.hypotheses != 0 ? options.hypotheses : options.beams);
    std::vector<std::vector<Hypothesis>> out(texts.size());
    for (size_t first = 0; first < order.size(); first += options.batch) {
        const auto batch = std::span(order).subspan(first, std::min(options.batch, order.size() - first));
        const SearchTask task = task_of(model, ids, batch, positions, options);
        const auto found = session.surviving_loss([&] { return search(session, task, options); });
        const model::Vocabulary &target = model.vocabularies.at(g.target.vocabulary);
        for (size_t i = 0; i < batch.size(); ++i)
            for (const Candidate &c : std::span(found[i]).first(std::min(most, found[i].size())))
                out[batch[i]].push_back(
                    {target.decode(c.tokens, g.target.characters ? "" : " "), c.tokens, c.log_probability, c.score});
        if (options.progress) options.progress(first + batch.size(), order.size());
    }
    return out;
}

} // namespace lamina::generation
