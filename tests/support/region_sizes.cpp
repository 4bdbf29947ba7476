// Sizes and numbers of operators on windows and regions whose fields say more than their limits.

#include "tests/support/desc.h"
#include "tests/support/linked_sizes.h"
#include "tests/support/random_desc.h"

namespace dmlop {
namespace {

using Sizes = std::vector<uint32_t>;

// Mostly such that no divisor is 0 or negative.
void DrawLocalResponse(const Entropy& from, const Sizes&, OperatorDesc& op) {
  const float factors[] = {1.0f, 1e-4f, 0.5f, 0.0f, 2.0f};
  const float powers[] = {0.75f, 0.5f, 1.0f, 0.0f, -1.0f, 2.5f};
  const bool is_plain = !from.OneIn(8);
  Set(op, "Alpha", is_plain ? from.OneOf(factors) : RandomFactor(from));
  Set(op, "Beta", is_plain ? from.OneOf(powers) : static_cast<float>(from.Int(-3, 3)));
  Set(op, "Bias", is_plain ? from.OneOf(factors) : RandomFactor(from));
}

constexpr LinkedSizes kRows[] = {
    {"LOCAL_RESPONSE_NORMALIZATION", DrawLocalResponse},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD", DrawLocalResponse},
};

}  // namespace

std::span<const LinkedSizes> RegionSizes() {
  return kRows;
}

}  // namespace dmlop
