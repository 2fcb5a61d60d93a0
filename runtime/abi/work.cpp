#include "abi/work.hpp"

#include "abi/contract.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

namespace lamina::abi {
namespace {

// "gate_weight:2*H"
struct WorkTerm {
    std::string port; // empty: always counts
    std::string expression;
};

std::vector<WorkTerm> terms_of(const char *work) {
    std::vector<WorkTerm> out;
    std::istringstream words(work);
    for (std::string word; words >> word;) {
        const size_t colon = word.find(':');
        out.push_back(colon == std::string::npos ? WorkTerm{"", word}
                                                 : WorkTerm{word.substr(0, colon), word.substr(colon + 1)});
    }
    return out;
}

// What names in dims may stand for.
std::set<std::string> known_names(const lamina_layer &contract) {
    std::set<std::string> out;
    for (const lamina_param *p = contract.params; p != contract.params + contract.n_params; ++p)
        if (p->kind == LAMINA_INT) out.insert(p->name);
    for (const PortList list : port_lists)
        for (const lamina_port &port : ports_of(contract, list).ports)
            for (std::string &name : names_in(port.dims)) out.insert(std::move(name));
    return out;
}

bool has_port(const lamina_layer &contract, const std::string &name) {
    return std::any_of(port_lists.begin(), port_lists.end(), [&](PortList list) {
        const auto &ports = ports_of(contract, list).ports;
        return std::any_of(ports.begin(), ports.end(), [&](const lamina_port &port) { return port.name == name; });
    });
}

bool is_given(const LayerCall &call, const std::string &name) {
    return std::any_of(port_lists.begin(), port_lists.end(), [&](PortList list) {
        const auto &ports = ports_of(*call.layer().contract, list).ports;
        for (uint32_t i = 0; i < ports.size(); ++i)
            if (ports[i].name == name) return !call.types(list)[i].shape.empty() && call.bound(list)[i] == i;
        return false;
    });
}

} // namespace

std::string fault_of_work(const lamina_layer &contract) {
    if (contract.work == nullptr) return "";
    const std::string work = std::string("work '") + contract.work + "': ";
    const std::set<std::string> known = known_names(contract);
    for (const WorkTerm &term : terms_of(contract.work)) try {
            if (!term.port.empty() && !has_port(contract, term.port))
                return work + "there is no port '" + term.port + "'";
            for (const std::string &name : names_in(term.expression))
                if (!known.contains(name)) return work + "no dims and no integer parameter has the name '" + name + "'";
        } catch (const Error &e) {
            return work + e.what();
        }
    return "";
}

std::optional<double> operations_of(const LayerCall &call) {
    const lamina_layer &contract = *call.layer().contract;
    if (contract.work == nullptr) return std::nullopt;
    Solver solver;
    Dims dims(solver);
    for (const std::string &name : known_names(contract))
        if (const auto size = call.size(name)) dims.set(name, *size);
    double each = 0;
    for (const WorkTerm &term : terms_of(contract.work)) {
        if (!term.port.empty() && !is_given(call, term.port)) continue;
        const std::optional<Size> size = dims.evaluate(term.expression);
        const auto number = size ? size->number() : std::nullopt;
        if (!number) return std::nullopt;
        each += static_cast<double>(*number);
    }
    return each * static_cast<double>(element_count(call.types(PortList::out).front().shape));
}

} // namespace lamina::abi
