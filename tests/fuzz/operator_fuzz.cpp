// SPDX-License-Identifier: Apache-2.0
// The bytes are a desc of an operator, elements of its tensors, an instruction set and a number of
// threads. A valid call must give the reference's results, in place, too.

#include <algorithm>

#include "tests/fuzz/check.h"
#include "tests/fuzz/operator_input.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxElements = 1 << 12;  // of a tensor, because the reference is slow
constexpr int64_t kMaxExtent = 1 << 15;

bool IsValid(OperatorDesc& desc, FeatureLevel level) {
  Diagnostics diagnostics;
  Check(desc, level, diagnostics);
  if (diagnostics.has_errors()) return false;
  Require(MinimumFeatureLevel(desc) <= level, "valid below its minimum level");
  return true;
}

bool IsSmall(const OperatorDesc& desc) {
  const std::vector<TensorSlot> slots = TensorSlots(desc);
  return std::all_of(slots.begin(), slots.end(), [](const TensorSlot& slot) {
    const Layout layout = LayoutOf(*slot.desc);
    return ByteWidth(*slot.desc->data_type) > 0 && layout.element_count() <= kMaxElements &&
           Extent(layout) <= kMaxExtent;
  });
}

void CheckInput(FuzzedDataProvider& data) {
  const std::vector<std::string_view> isas = SupportedIsas();
  SelectIsa(isas[data.ConsumeIntegralInRange<size_t>(0, isas.size() - 1)]);
  SetThreadCount(data.ConsumeIntegralInRange<int>(1, 8));
  const auto levels = FeatureLevels();
  const FeatureLevel level =
      levels[levels.size() - 1 - data.ConsumeIntegralInRange<size_t>(0, levels.size() - 1)];
  OperatorDesc desc = ReadDesc(data);
  if (!IsValid(desc, level) || !IsSmall(desc)) return;
  OperatorCall call = ReadCall(desc, data);
  const testing::AssertionResult right = RunsLikeReference(call);
  Require(right, right.message());
  if (!MayRunInPlace(call)) return;
  const testing::AssertionResult right_in_place = RunsLikeReferenceInPlace(call);
  Require(right_in_place, right_in_place.message());
}

}  // namespace
}  // namespace dmlop

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider provider(data, size);
  dmlop::CheckInput(provider);
  return 0;
}
