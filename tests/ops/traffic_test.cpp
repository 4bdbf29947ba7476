// SPDX-License-Identifier: Apache-2.0
// The bytes that each operator must move, counted by hand.

#include "core/ops/pieces.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "core/ops/family.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"

namespace dmlop {
namespace {

using Numbers = std::vector<uint32_t>;

TensorDesc Desc(DataType type, Numbers sizes, std::optional<Numbers> strides = std::nullopt) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = std::move(sizes);
  desc.strides = std::move(strides);
  return desc;
}

Traffic TrafficFor(OperatorDesc desc) {
  Complete(desc);
  static std::array<std::byte, 256> memory;  // longer than any tensor here
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
  for (const TensorSlot& slot : TensorSlots(static_cast<const OperatorDesc&>(desc))) {
    const TensorView view{memory.data(), *slot.desc->data_type, LayoutOf(*slot.desc)};
    if (slot.role() == TensorRole::kInput) {
      inputs.push_back(AsConst(view));
    } else {
      outputs.push_back(view);
    }
  }
  return TrafficOf(desc, inputs, outputs);
}

OperatorDesc Identity(Numbers sizes, std::optional<Numbers> strides) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(DataType::kFloat32, std::move(sizes), std::move(strides)));
  return desc;
}

OperatorDesc JoinOf(Numbers first, Numbers second, uint32_t axis) {
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "InputTensors",
      {Desc(DataType::kFloat16, std::move(first)), Desc(DataType::kFloat16, std::move(second))});
  Set(desc, "Axis", axis);
  return desc;
}

OperatorDesc SplitOf(Numbers sizes, uint32_t axis, uint32_t parts) {
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "InputTensor", Desc(DataType::kInt64, std::move(sizes)));
  Set(desc, "OutputTensors", std::vector<TensorDesc>(parts));
  Set(desc, "Axis", axis);
  return desc;
}

OperatorDesc ReduceOf(ReduceFunction function, Numbers sizes, std::optional<Numbers> strides,
                      Numbers axes) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "InputTensor", Desc(DataType::kFloat16, std::move(sizes), std::move(strides)));
  Set(desc, "Axes", std::move(axes));
  return desc;
}

// One channel of 10 positions.
OperatorDesc UnfoldOf(uint32_t window, uint32_t stride, uint32_t dilation, uint32_t padding) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "InputTensor", Desc(DataType::kUint8, {1, 1, 10}));
  Set(desc, "WindowSizes", {window});
  Set(desc, "Strides", {stride});
  Set(desc, "Dilations", {dilation});
  Set(desc, "StartPadding", {padding});
  Set(desc, "EndPadding", {padding});
  return desc;
}

OperatorDesc GatherOf(Numbers sizes, Numbers indices) {
  OperatorDesc desc = OperatorNamed("GATHER");
  Set(desc, "InputTensor", Desc(DataType::kFloat32, std::move(sizes)));
  Set(desc, "IndicesTensor", Desc(DataType::kInt64, std::move(indices)));
  Set(desc, "Axis", 0);
  Set(desc, "IndexDimensions", 1);
  return desc;
}

struct TrafficCase {
  const char* name;
  OperatorDesc desc;
  Traffic traffic;
  Limit limit;
};

const TrafficCase kCases[] = {
    // 24 elements of 4 bytes, read and written.
    {"Identity", Identity({2, 3, 4}, std::nullopt), {96, 96}, Limit::kCopy},
    {"Transpose", Identity({3, 4}, Numbers{1, 3}), {48, 48}, Limit::kCopy},
    // Only one row of 4 is read.
    {"BroadcastRows", Identity({3, 4}, Numbers{0, 1}), {16, 48}, Limit::kWrite},
    {"BroadcastScalar", Identity({3, 4}, Numbers{0, 0}), {4, 48}, Limit::kWrite},
    // Gaps are not read.
    {"EveryOther", Identity({6}, Numbers{2}), {24, 24}, Limit::kCopy},
    // Rows that overlap: elements 0 to 6 of memory.
    {"Overlapping", Identity({4, 4}, Numbers{1, 1}), {28, 64}, Limit::kCopy},
    // 2 x 3 + 2 x 5 elements of 2 bytes.
    {"Join", JoinOf({2, 3}, {2, 5}, 1), {32, 32}, Limit::kCopy},
    // 12 elements of 8 bytes.
    {"Split", SplitOf({6, 2}, 0, 3), {96, 96}, Limit::kCopy},
    // 32 elements of 2 bytes; 4 sums of 2 bytes.
    {"Sum", ReduceOf(ReduceFunction::kSum, {4, 8}, std::nullopt, {1}), {64, 8}, Limit::kRead},
    // 4 indices of 4 bytes.
    {"ArgMax",
     ReduceOf(ReduceFunction::kArgMax, {4, 8}, std::nullopt, {1}),
     {64, 16},
     Limit::kRead},
    // One row of 8 elements, summed over its repetitions.
    {"SumOfBroadcast",
     ReduceOf(ReduceFunction::kSum, {4, 8}, Numbers{0, 1}, {0}),
     {16, 16},
     Limit::kCopy},
    // Three rows of 4 elements and their indices, whatever the number of rows.
    {"Gather", GatherOf({1000, 4}, {1, 3}), {48 + 24, 48}, Limit::kCopy},
    {"GatherOfFewRows", GatherOf({2, 4}, {1, 100}), {32 + 800, 1600}, Limit::kCopy},
    // 3 taps in 8 blocks of 1 byte; all 10 positions are read.
    {"Unfold", UnfoldOf(3, 1, 1, 0), {10, 24}, Limit::kCopy},
    {"UnfoldWide", UnfoldOf(5, 1, 1, 2), {10, 50}, Limit::kWrite},
    // Blocks at 0, 3, 6: positions 2, 5, 8 and 9 are skipped.
    {"UnfoldSkips", UnfoldOf(2, 3, 1, 0), {6, 6}, Limit::kCopy},
    // Blocks at -1, 3, 7 with taps 2 apart: positions 1; 3, 5; 7, 9.
    {"UnfoldDilated", UnfoldOf(2, 4, 2, 1), {5, 6}, Limit::kCopy},
};

class TrafficTest : public testing::TestWithParam<TrafficCase> {};

TEST_P(TrafficTest, IsThatOfTheElements) {
  const Traffic traffic = TrafficFor(GetParam().desc);
  EXPECT_EQ(traffic.read_bytes, GetParam().traffic.read_bytes);
  EXPECT_EQ(traffic.written_bytes, GetParam().traffic.written_bytes);
  EXPECT_EQ(LimitOf(traffic), GetParam().limit);
}

INSTANTIATE_TEST_SUITE_P(, TrafficTest, testing::ValuesIn(kCases), CaseName<TrafficCase>);

TEST(Operations, SaturateForBroadcastTensors) {
  constexpr uint32_t kMany = 1u << 31;
  for (const auto& [size, count] : {std::pair<uint32_t, int64_t>{5, 2 * 3 * 5 * 5},
                                    {kMany, std::numeric_limits<int64_t>::max()}}) {
    OperatorDesc desc = OperatorNamed("MATRIX_MULTIPLY_INTEGER");
    Set(desc, "ATensor", Desc(DataType::kUint8, {2, 1, 3, size}, Numbers{0, 0, 0, 0}));
    Set(desc, "BTensor", Desc(DataType::kUint8, {2, 1, size, size}, Numbers{0, 0, 0, 0}));
    EXPECT_EQ(OperationsOf(desc), count);
  }
}

}  // namespace
}  // namespace dmlop
