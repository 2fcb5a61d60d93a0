// host PLUGINS MODEL: a program that uses the host API of an installed Lamina to run a model with a foreign layer.
#include <lamina/lamina.hpp>

#include <array>
#include <iostream>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    try {
        const lamina::Runtime runtime({.plugin_folders = {argv[1]}});
        const lamina::Model model = runtime.load(argv[2]);
        lamina::Session session = runtime.session(model, runtime.device("cpu"));
        constexpr std::array x{3.0f, 4.0f}; // the weight takes a fifth of the first, the adapter one of the second
        const lamina::TensorMap y = session.run("main", {{"x", lamina::Tensor::of({1, 2}, x)}});
        std::cout << session.device().id << ':';
        for (const float v : y.at("y").f32()) std::cout << ' ' << v;
        std::cout << '\n';
    } catch (const lamina::Error &error) {
        std::cerr << error.what() << '\n';
        return static_cast<int>(error.code());
    }
}
