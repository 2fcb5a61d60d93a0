#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

using nlohmann::json;

namespace {

size_t count(const std::string &text, const std::string &part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

// Attention Is All You Need, section 3.5.
double encoding(int position, int dimension, int d_model) {
    const double angle = position / std::pow(10000.0, (dimension - dimension % 2) / static_cast<double>(d_model));
    return dimension % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

} // namespace

TEST_CASE("plot: options that describe no encoding are usage errors") {
    const Finished odd = run_lamina({"plot", "pe", "--d-model", "3"});
    CHECK(odd.status == 2);
    CHECK_THAT(odd.err, matchers::contains("--d-model 3: expected an even number"));
    CHECK(run_lamina({"plot", "pe", "--layout", "foo"}).status == 2);
}

TEST_CASE("plot: a heat map of some dimensions names them") {
    const Finished f = run_lamina({"plot", "pe", "--d-model", "20", "--max-len", "10", "--heat", "--dims", "0,17-19"});
    CHECK(f.status == 0);
    for (const char *label : {">0<", ">17<", ">18<", ">19<"}) CHECK_THAT(f.out, matchers::contains(label));
}

TEST_CASE("plot pe: the numbers match the formula") {
    const Finished f = run_lamina({"plot", "pe", "--json", "--d-model", "20", "--max-len", "100", "--dims", "4-7"});
    REQUIRE(f.status == 0);
    const json table = json::parse(f.out);
    CHECK(table["dims"] == json({4, 5, 6, 7}));
    REQUIRE(table["values"].size() == 100);
    for (int p = 0; p < 100; ++p)
        for (int i = 0; i < 4; ++i)
            CHECK_THAT(table["values"][static_cast<size_t>(p)][static_cast<size_t>(i)].get<double>(),
                       matchers::within_abs(encoding(p, 4 + i, 20), 2e-7));
}

TEST_CASE("plot pe: in halves, all sines come before all cosines") {
    const Finished f = run_lamina({"plot", "pe", "--json", "--d-model", "4", "--max-len", "2", "--layout", "halves"});
    REQUIRE(f.status == 0);
    const json row = json::parse(f.out)["values"][1];
    CHECK_THAT(row[1].get<double>(), matchers::within_abs(std::sin(0.01), 2e-7));
    CHECK_THAT(row[2].get<double>(), matchers::within_abs(std::cos(1.0), 2e-7));
}

TEST_CASE("plot pe: a line for each dimension, each in the legend, written to the file and nowhere else") {
    const TemporaryFolder folder;
    const Finished f = run_lamina({"plot", "pe", "--dims", "4-7", "--title", "a < b", "-o", folder.path() / "pe.svg"});
    REQUIRE(f.status == 0);
    CHECK(f.out.empty());
    const std::string svg = folder.read("pe.svg");
    CHECK(count(svg, "<polyline") == 4);
    for (const char *name : {"dim 4", "dim 5", "dim 6", "dim 7"}) CHECK_THAT(svg, matchers::contains(name));
    CHECK_THAT(svg, matchers::contains("a &lt; b"));
    CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("plot pe: the picture is valid XML for any title") {
    const Finished f = run_lamina({"plot", "pe", "--title", "a\x01\xFF\xC3\xA9\x1B\xEF\xBF\xBF z"});
    REQUIRE(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("<title>a\xEF\xBF\xBD\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD z</title>"));
}

TEST_CASE("plot pe: a heat map of a long table is thinned to the visible resolution, which is reported") {
    const Finished f = run_lamina({"plot", "pe", "--heat", "--max-len", "5000", "--d-model", "64"});
    REQUIRE(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("position (every 11th shown)"));
    CHECK(count(f.out, "class=\"cells\" transform=") > 50); // a path for each colour that occurs
    CHECK(f.out.size() < 2'000'000);
}

TEST_CASE("plot pe: invalid arguments are refused before anything is written") {
    const auto refused = [](std::vector<std::string> options, int status, const std::string &why) {
        const TemporaryFolder folder;
        options.insert(options.begin(), {"plot", "pe", "-o", folder.path() / "pe.svg"});
        const Finished f = run_lamina(options);
        CHECK(f.status == status);
        CHECK_THAT(f.err, matchers::contains(why));
        CHECK(std::filesystem::is_empty(folder.path()));
    };
    refused({"--d-model", "5"}, 2, "expected an even number");
    refused({"--dims", "4-20"}, 2, "expected dimensions from 0 to 19");
    refused({"--dims", "7-4"}, 2, "write 4-7");
    refused({"--dims", "x"}, 2, "found 'x'");
    refused({"--dims", ","}, 2, "found ''");
    refused({"--layout", "half"}, 2, "interleaved, halves");
    refused({"--max-len", "0"}, 2, "expected a whole number from 1 to 268435456, found '0'");
    refused({"--d-model", "64", "--dims", "0-63"}, 2, "64 lines cannot be distinguished");
    refused({"--d-model", "100000", "--max-len", "100000"}, 2, "choose fewer");
    refused({"--csv", "--heat"}, 2, "excludes");
    refused({"--csv", "--json"}, 2, "--csv and --json cannot be used together");
    refused({"--dims", "4,2-5"}, 2, "4 is given twice");
}

TEST_CASE("plot pe: a file that cannot be written is an error") {
    const Finished f = run_lamina({"plot", "pe", "-o", "/no/such/folder/pe.svg"});
    CHECK(f.status == 1);
    CHECK_THAT(f.err, matchers::contains("/no/such/folder/pe.svg"));
}

TEST_CASE("plot pe: a line with very many positions is thinned to the visible resolution") {
    const Finished f = run_lamina({"plot", "pe", "--max-len", "300000"});
    REQUIRE(f.status == 0);
    CHECK(count(f.out, "<polyline") == 4);
    CHECK(f.out.size() < 1'000'000);
}

TEST_CASE("plot pe: every one of many lines looks different") {
    const Finished f = run_lamina({"plot", "pe", "--dims", "0-19"});
    REQUIRE(f.status == 0);
    std::set<std::string> styles;
    for (const std::string &line : lines_of(f.out))
        if (line.starts_with("<polyline")) styles.insert(line.substr(line.find("stroke=")));
    CHECK(styles.size() == 20);
}

TEST_CASE("plot pe: a file whose name promises another format is refused") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string &name, const std::vector<std::string> &more, const std::string &better) {
        std::vector<std::string> arguments{"plot", "pe", "-o", (folder.path() / name).string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Finished f = run_lamina(arguments);
        CHECK(f.status == 2);
        CHECK_THAT(f.err, matchers::contains("name it " + (folder.path() / better).string()));
        CHECK_FALSE(std::filesystem::exists(folder.path() / name));
    };
    refused("pe.png", {}, "pe.svg");
    refused("pe.svg", {"--csv"}, "pe.csv");
    refused("pe.pdf", {"--heat"}, "pe.svg");
    CHECK(run_lamina({"plot", "pe", "-o", (folder.path() / "pe").string()}).status == 0);
}
