// How long runs wait for variants that they do not require.
#include "admission/admission.hpp"
#include "catch.hpp"

using lamina::admission::usual_proving_time;

TEST_CASE("runs wait for faster variants on GPUs alone, and only if what is proved is kept") {
    using std::chrono::seconds;
    for (const char *gpu : {"discrete", "integrated", "virtual", "other"}) {
        CHECK(usual_proving_time(gpu, true) == seconds(20));
        CHECK(usual_proving_time(gpu, false) == seconds(0));
    }
    for (const char *other : {"cpu", "software"}) CHECK(usual_proving_time(other, true) == seconds(0));
}
