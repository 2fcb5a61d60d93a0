#include <lamina/measure.hpp>

namespace lamina {

double LayerTime::seconds() const {
    double sum = 0;
    for (const DispatchTime &d : dispatches) sum += d.seconds;
    return sum;
}

} // namespace lamina
