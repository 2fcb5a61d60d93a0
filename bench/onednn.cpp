// The product of the layer `linear` by oneDNN (Debian's libdnnl-dev): y (m, n) = x (m, k) * transpose(weight (n, k)).
//
//     c++ -O2 -std=c++20 bench/onednn.cpp -o build/bench/onednn -ldnnl
//     OMP_WAIT_POLICY=passive build/bench/onednn
//     build/bin/lamina bench linear --device cpu --yardstick --case "B=1 T=128,512 K=512 N=512,2048 +bias" ...
//
// oneDNN reads the weight as it is stored, or copied beforehand into the order that it prefers. Medians of half a
// second.
#include <dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unordered_map>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Memory = dnnl::memory;
using Tag = Memory::format_tag;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

template <class Run> double median_seconds(const Run &run) {
    for (int i = 0; i < 2; ++i) run();
    std::vector<double> times;
    for (const auto begin = Clock::now(); times.size() < 3 || seconds_since(begin) < 0.5;) {
        const auto before = Clock::now();
        run();
        times.push_back(seconds_since(before));
    }
    std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

Memory::desc matrix(long rows, long columns, Tag order) { return {{rows, columns}, Memory::data_type::f32, order}; }

struct Product {
    long m, k, n;

    void measure() const {
        const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        dnnl::stream stream(engine);
        std::vector<float> x(static_cast<size_t>(m * k), 0.1F), weight(static_cast<size_t>(n * k), 0.2F);
        Memory in(matrix(m, k, Tag::ab), engine, x.data()), out(matrix(m, n, Tag::ab), engine);
        Memory stored(matrix(k, n, Tag::ba), engine, weight.data());
        const auto seconds_with = [&](Memory &weights, const dnnl::matmul::primitive_desc &how) {
            const dnnl::matmul product(how);
            return median_seconds([&] {
                product.execute(stream, {{DNNL_ARG_SRC, in}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, out}});
                stream.wait();
            });
        };
        const auto plain = product_of(engine, Tag::ba), best = product_of(engine, Tag::any);
        Memory copied(best.weights_desc(), engine);
        dnnl::reorder(stored, copied).execute(stream, stored, copied);
        stream.wait();
        print(seconds_with(stored, plain), seconds_with(copied, best));
    }

  private:
    [[nodiscard]] dnnl::matmul::primitive_desc product_of(const dnnl::engine &engine, Tag order) const {
        const auto x = matrix(m, k, Tag::ab), weight = matrix(k, n, order), y = matrix(m, n, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
        return {engine, x, weight, y};
#else
        return {dnnl::matmul::desc(x, weight, y), engine};
#endif
    }

    void print(double stored, double copied) const {
        const double operations = 2e-9 * static_cast<double>(m * k * n);
        std::printf("T=%-4ld K=%-4ld N=%-4ld  as stored %6.3f ms, %3.0f GFLOP/s   copied %6.3f ms, %3.0f GFLOP/s\n", m,
                    k, n, 1e3 * stored, operations / stored, 1e3 * copied, operations / copied);
    }
};

} // namespace

int main() {
    for (const long rows : {128L, 512L})
        for (const Product &product : {Product{rows, 512, 512}, Product{rows, 512, 2048}, Product{rows, 2048, 512}})
            product.measure();
}
