// SPDX-License-Identifier: Apache-2.0
// Devices with planted faults, as predicates of cases: whatever case fails first, it shrinks to the
// smallest one that there is, and what the failure hangs on is told.
#include "core/fuzz/shrink.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/fuzz/conditions.h"
#include "core/fuzz/generator.h"
#include "tests/judge/planted_faults.h"
#include "tests/support/case_name.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

class PlantedFaults : public testing::TestWithParam<Planted> {};

// Returns the first case that fails.
std::optional<DrawnCase> FirstFailing(const Planted& planted) {
  constexpr uint64_t kMostCases = 2000;
  CaseGenerator generator(*FindOperator(planted.op), {}, TestSeed());
  for (uint64_t index = 0; index < kMostCases; ++index) {
    DrawnCase drawn = generator.Case(index);
    if (planted.fails(drawn.computation)) return drawn;
  }
  return std::nullopt;
}

TEST_P(PlantedFaults, ShrinkToTheSmallestCaseAndAreTold) {
  if (!IsInShare()) GTEST_SKIP() << "in another share";
  const Planted& planted = GetParam();
  const auto first = FirstFailing(planted);
  ASSERT_TRUE(first);
  const TryAll run = [&](std::span<const Computation> cases, TryUntil until) {
    std::vector<TryResult> results;
    for (const Computation& one : cases) {
      const bool fails = planted.fails(one);
      results.push_back(fails ? TryResult::kFails : TryResult::kPasses);
      if (fails && until == TryUntil::kFirstFailure) break;
    }
    return results;
  };
  const ShrinkResult result = Shrink(first->computation, run, 300, {});
  EXPECT_TRUE(planted.fails(result.smallest));
  EXPECT_TRUE(result.is_minimal) << result.runs;
  int64_t elements = 0;
  std::string sizes;
  for (const TensorSlot& slot : TensorSlots(result.smallest.op)) {
    elements += LayoutOf(*slot.desc).element_count();
    sizes += fmt::format(" {} {}", slot.path, ToString(*slot.desc->sizes));
  }
  EXPECT_LE(elements, planted.elements) << sizes;
  EXPECT_EQ(RankOf(result.smallest.op), planted.rank) << sizes;
  const Conditions conditions = FindConditions(result.smallest, first->values, run, 600, {});
  for (const std::string& text : planted.texts) {
    EXPECT_NE(conditions.text.find(text), std::string::npos) << conditions.text << sizes;
  }
  EXPECT_TRUE(Holds(conditions, result.smallest.op, result.smallest.op))
      << conditions.text << sizes;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFaults, testing::ValuesIn(AllPlanted()), CaseName<Planted>);

TEST(OtherCases, MeetConditionsOfSizesByTheSizesAlone) {
  Conditions conditions;
  conditions.list = {{{"W"}, ConditionKind::kAtLeast, {int64_t{17}}}};
  conditions.sizes = {{"W", {"/desc/InputTensor/Sizes/3"}}};
  for (const uint32_t width : {3U, 16U, 17U}) {
    OperatorDesc op(*FindOperator("ACTIVATION_RELU"));
    op.at(kInputTensor).data_type = DataType::kFloat32;
    op.at(kInputTensor).sizes = std::vector<uint32_t>{1, 1, 1, width};
    EXPECT_EQ(Holds(conditions, op, op), width == 17) << width;
  }
}

}  // namespace
}  // namespace dmlop
