// lamina search: the lines of a file whose vectors are nearest to that of a query.
#include "command.hpp"
#include "corpus.hpp"
#include "model_arguments.hpp"
#include "table.hpp"
#include "vectors.hpp"

#include <lamina/inspect.hpp>
#include <lamina/npy.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>

namespace lamina::cli {
namespace {

struct SearchOptions {
    std::filesystem::path model, vectors, texts;
    std::string query, field, prompt;
    int64_t top = 5;
    SessionArguments session;
};

struct Near {
    size_t row;
    double score;
};

// Best first. A vector without a direction is the worst.
std::vector<Near> nearest(const Tensor &vectors, std::span<const float> query, const Likeness &likeness, size_t most) {
    std::vector<Near> out;
    for (size_t i = 0; i < static_cast<size_t>(vectors.shape()[0]); ++i) {
        const double score = likeness.of(cli::row_of(vectors, i), query);
        out.push_back({i, std::isnan(score) ? -std::numeric_limits<double>::infinity() : score});
    }
    const auto last = out.begin() + static_cast<std::ptrdiff_t>(std::min(most, out.size()));
    std::partial_sort(out.begin(), last, out.end(), [](const Near &a, const Near &b) {
        return a.score != b.score ? a.score > b.score : a.row < b.row;
    });
    out.erase(last, out.end());
    return out;
}

// The texts of these rows. Throws Error(input) unless the file has a line for each of all rows.
std::map<size_t, std::string> texts_of_rows(const SearchOptions &options, const std::vector<Near> &wanted,
                                            size_t rows) {
    constexpr size_t at_once = 4096;
    Corpus corpus(options.texts, options.field);
    std::map<size_t, std::string> out;
    size_t count = 0;
    for (auto texts = corpus.next(at_once); !texts.empty(); texts = corpus.next(at_once)) {
        for (const Near &each : wanted)
            if (each.row >= count && each.row - count < texts.size()) out[each.row] = texts[each.row - count];
        count += texts.size();
        stop_if_interrupted();
    }
    if (count != rows)
        throw Error(ErrorCode::input, options.texts.string() + ": expected " + std::to_string(rows) +
                                          " lines, one for each vector of " + options.vectors.string() + ", found " +
                                          std::to_string(count));
    return out;
}

std::string in_one_line(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    return text;
}

int search(const SearchOptions &options, const GlobalOptions &global, const Arguments &app, Output &output) {
    const Tensor vectors = read_npy(options.vectors);
    if (vectors.shape().size() != 2 || vectors.dtype() != DType::f32)
        throw Error(ErrorCode::input, options.vectors.string() + ": expected a vector of floats in each row, found " +
                                          to_string(vectors.shape()) + " of " + name_of(vectors.dtype()));
    const Runtime runtime(global.runtime(output));
    const Model model = runtime.load(options.model);
    const Device device = chosen_device(runtime, global, output);
    Session session = runtime.session(model, device, session_options(options.session, runtime, device));
    ReadOptions reading;
    reading.prompt =
        prompt_for(inspect(model), app.is_given("--prompt") ? std::optional(options.prompt) : std::nullopt, {"query"});
    const Tensor query = embed(session, {options.query}, reading);
    if (query.shape()[1] != vectors.shape()[1])
        throw Error(ErrorCode::input, options.vectors.string() + ": expected vectors of " +
                                          std::to_string(query.shape()[1]) + " numbers, as the model gives, found " +
                                          std::to_string(vectors.shape()[1]));
    const std::vector<Near> found = nearest(vectors, cli::row_of(query, 0), likeness(inspect(model).reading->sparse),
                                            static_cast<size_t>(options.top));
    auto texts = texts_of_rows(options, found, static_cast<size_t>(vectors.shape()[0]));
    Json list = Json::array();
    Table table({{"SCORE", Align::right}, {"LINE", Align::right}, "TEXT"});
    for (const auto &[row, score] : found) {
        list.push_back({{"score", score}, {"line", row + 1}, {"text", texts[row]}});
        table.row({fixed(score), std::to_string(row + 1), in_one_line(texts[row])});
    }
    output.json() ? output.print_json(list) : output.print(table.str(output));
    return 0;
}

} // namespace

Command add_search(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app =
        lamina.command("search", "Find the lines of a file that mean nearly the same as a query, by their vectors.");
    app.footer("lamina embed writes the vectors. Scores are cosines or, of sparse vectors, products.\n"
               "Example: lamina search all-MiniLM-L6-v2 vectors.npy texts.jsonl \"Who plays?\"");
    auto options = std::make_shared<SearchOptions>();
    app.positional("MODEL", options->model, "the model that made the vectors").required();
    app.positional("VECTORS", options->vectors, "a .npy file with a vector for each line, as lamina embed writes it")
        .required();
    app.positional("FILE", options->texts, "the lines, as lamina embed takes them").required();
    app.positional("QUERY", options->query, "a text").required();
    app.option("--top", options->top, "N", "how many lines to print, the nearest ones")
        .shows_default()
        .within(int64_t{1}, int64_t{1} << 20);
    app.option("--field", options->field, "NAME",
               "lines are JSON, and this field holds the text; default for .jsonl: text")
        .not_empty();
    app.option("--prompt", options->prompt, "NAME",
               "the prompt of the model that is put before the query; default: query, if it has one of this name; '': "
               "none");
    add_session_options(app, options->session);
    return {app, [options, &global, app](Output &output) { return search(*options, global, app, output); }};
}

} // namespace lamina::cli
