#include "vulkan/statistics.hpp"

#include <algorithm>
#include <vector>

namespace lamina::vulkan {
namespace {

double value_of(const VkPipelineExecutableStatisticKHR &s) {
    switch (s.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return s.value.b32 == VK_TRUE ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return static_cast<double>(s.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
        return s.value.f64;
    default:
        return static_cast<double>(s.value.u64);
    }
}

// Both functions of this extension give their number first, then themselves.
template <class Structure, class Info>
std::vector<Structure> list_of(const LogicalDevice &device, VkStructureType type, const Info &info,
                               VkResult(VKAPI_PTR *get)(VkDevice, const Info *, uint32_t *, Structure *)) {
    uint32_t n = 0;
    check(get(device.handle(), &info, &n, nullptr), "counting what the compiler says");
    Structure empty{};
    empty.sType = type;
    std::vector<Structure> out(n, empty);
    check(get(device.handle(), &info, &n, out.data()), "reading what the compiler says");
    return out;
}

} // namespace

std::map<std::string, double> statistics_of(const LogicalDevice &device, VkPipeline pipeline) {
    std::map<std::string, double> out;
    if (!device.keeps_statistics()) return out;
    VkPipelineInfoKHR whole{};
    whole.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR;
    whole.pipeline = pipeline;
    const auto executables =
        list_of<VkPipelineExecutablePropertiesKHR>(device, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR, whole,
                                                   device.vk().vkGetPipelineExecutablePropertiesKHR);
    for (uint32_t i = 0; i < executables.size(); ++i) {
        VkPipelineExecutableInfoKHR one{};
        one.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
        one.pipeline = pipeline;
        one.executableIndex = i;
        for (const auto &s :
             list_of<VkPipelineExecutableStatisticKHR>(device, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR, one,
                                                       device.vk().vkGetPipelineExecutableStatisticsKHR)) {
            double &value = out.try_emplace(s.name, value_of(s)).first->second;
            value = std::max(value, value_of(s));
        }
    }
    return out;
}

} // namespace lamina::vulkan
