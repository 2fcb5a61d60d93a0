// What the generator of cases chooses from.
#pragma once

#include "conformance/case.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace lamina::conformance {

// What a contract allows.
struct Menu {
    std::set<std::string> dims, factors;     // factors: names that appear in products
    std::set<std::string> columns, matrices; // names of the last axes of inputs, and of the axes of weight matrices
    bool ellipsis = false;
    size_t choices = 1; // of the parameter that has the most
    std::vector<std::string> optional;
    std::vector<std::set<std::string, std::less<>>> combinations; // sets of optional ports to cover
    std::vector<size_t> with_states;                              // the numbers of those with all states and a port
    std::map<std::string, std::vector<Values>> values;            // by port: values besides the default
    std::map<std::string, Values> usual;                          // usual_values(), of the ports that have them

    explicit Menu(const lamina_layer &layer);

  private:
    void combine(const lamina_layer &layer);
    void read(const lamina_port &port, bool state);
};

// The dtypes that some weight of the layer allows, in turn. All block formats share one turn, because kernels differ
// most between blocks and single values.
class WeightTypes {
  public:
    explicit WeightTypes(const lamina_layer &layer);
    [[nodiscard]] DType of_case(size_t number) const;
    [[nodiscard]] size_t turns() const { return values_.size() + (blocks_.empty() ? 0 : 1); }

  private:
    std::vector<DType> values_, blocks_;
};

} // namespace lamina::conformance
