// Sizes for operators that work on slices.

#include <algorithm>

#include "tests/support/desc.h"
#include "tests/support/linked_sizes.h"

namespace dmlop {
namespace {

using Sizes = std::vector<uint32_t>;

void SetSizes(OperatorDesc& op, std::string_view tensor, const Sizes& sizes) {
  std::get<TensorDesc>(ValueOf(op, tensor)).sizes = sizes;
}

// Few enough elements for a reference that goes through a slice for each of its elements.
Sizes Fewer(Sizes sizes) {
  constexpr uint64_t kMost = 400;
  while (true) {
    uint64_t count = 1;
    for (const uint32_t size : sizes) count *= size;
    if (count <= kMost) return sizes;
    uint32_t& largest = *std::max_element(sizes.begin(), sizes.end());
    largest = (largest + 1) / 2;
  }
}

void DrawFewer(const Entropy&, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "InputTensor", Fewer(sizes));
}

// Leading sizes are 1.
void DrawMatrix(const Entropy&, const Sizes& sizes, OperatorDesc& op) {
  Sizes matrix = Fewer(sizes);
  for (size_t d = 0; d + 2 < matrix.size(); ++d) matrix[d] = 1;
  SetSizes(op, "InputTensor", matrix);
}

constexpr LinkedSizes kRows[] = {
    {"ACTIVATION_HARDMAX", DrawMatrix},     {"ACTIVATION_HARDMAX1", DrawFewer},
    {"ACTIVATION_LOG_SOFTMAX", DrawMatrix}, {"ACTIVATION_LOG_SOFTMAX1", DrawFewer},
    {"ACTIVATION_SOFTMAX", DrawMatrix},     {"ACTIVATION_SOFTMAX1", DrawFewer},
};

}  // namespace

std::span<const LinkedSizes> NormalizationSizes() {
  return kRows;
}

}  // namespace dmlop
