// SPDX-License-Identifier: Apache-2.0
// x * Scale + Bias on every instruction set, with sizes around the width of its vectors.

#include "core/kernels/element_wise/scale_bias.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "core/fuzz/random_desc.h"
#include "core/kernels/copy/stream.h"
#include "core/ops/support.h"
#include "tests/reference/element.h"
#include "tests/support/desc.h"
#include "tests/support/on_isa.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

const ScaleBias kFactors[] = {{1.0f, 0.0f},           {-1.0f, 0.0f},         {3.0f, -0.1f},
                              {0x1p-140f, 0x1p-149f}, {0x1p100f, -0x1p127f}, {1.5f, 65504.0f}};

OperatorCall CallFor(Engine& engine, DataType type, const ScaleBias& factors, int64_t length) {
  TestTensor input(type, PackedLayout({length}), length % 3);
  FillRandomly(engine, input);
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "ScaleBias", factors);
  return MakeCall(desc, {input}, {TestTensor(type, PackedLayout({length}), length % 5)});
}

class ScaleBiasOnIsa : public OnIsa {};

// The reference has a single answer for every element, so agreement with it implies agreement of
// all instruction sets.
TEST_P(ScaleBiasOnIsa, AgreesWithReference) {
  int number = 0;
  for (const DataType type : TypesOf(types::kUpTo32)) {
    for (const ScaleBias& factors : kFactors) {
      for (int64_t length = 1; length < 70; ++length) {
        SCOPED_TRACE(CaseTrace(number));
        Engine engine = CaseEngine(number++);
        OperatorCall call = CallFor(engine, type, factors, length);
        ASSERT_TRUE(RunsLikeReference(call));
      }
    }
  }
}

// Factors for every binary16 value: results are ties, differ from ties by less than binary32 or
// binary64 resolves, overflow, are subnormal, cancel or are NaN.
const ScaleBias kHalfFactors[] = {
    {1.0f, 0.0f},
    {2.0f, 10.0f},
    {0.1f, -3.3f},
    {1.0f, 0x1p-12f},                   // ties of small numbers
    {0x1p-30f, 1.0f + 0x1p-11f},        // above and below a tie by less than binary32 resolves
    {0x1p-60f, -(1.0f + 0x1p-11f)},     // by less than binary64 resolves
    {-0x1p-149f, 0x1p-14f + 0x1p-25f},  // by less than any product in binary32
    {0x1.000002p-100f, 65520.0f},       // limit of overflow
    {1.0f + 0x1p-11f, 0.0f},            // products with ties
    {1.0f + 0x1p-23f, 0.0f},            // just above ties
    {0x1.fffffep-1f, 0x1p-24f},         // just below ties
    {0x1p-10f, 0x1p-25f},               // ties among subnormal numbers
    {0x1.555556p-16f, -0x1.8p-25f},     // subnormal numbers
    {0x1.000002p-62f, 0x1p-25f},        // the tie between zero and the smallest number
    {0x1p-149f, 0x1p-149f},             // everything vanishes
    {-0x1p-149f, -0.0f},
    {0x1p127f, -0x1p127f},  // intermediate values exceed binary32
    {0x1.fffffep127f, 0x1.fffffep127f},
    {0x1.8p1f, -0x1.8p10f},  // cancels
    {0.0f, 1.5f},
    {std::numeric_limits<float>::infinity(), 1.0f},
    {1.0f, -std::numeric_limits<float>::infinity()},
    {std::numeric_limits<float>::quiet_NaN(), 1.0f},
};

TEST_P(ScaleBiasOnIsa, EveryHalfAgreesWithReference) {
  TestTensor input(DataType::kFloat16, PackedLayout({1 << 16}));
  for (int64_t i = 0; i < 1 << 16; ++i) {
    reference::SetBitsAt(input.mutable_view(), {i}, static_cast<uint64_t>(i));
  }
  for (const ScaleBias& factors : kHalfFactors) {
    OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
    Set(desc, "ScaleBias", factors);
    OperatorCall call =
        MakeCall(desc, {input}, {TestTensor(DataType::kFloat16, PackedLayout({1 << 16}))});
    ASSERT_TRUE(RunsLikeReference(call)) << factors.scale << ", " << factors.bias;
  }
}

// Rows that are streamed have the bits of those that are not, wherever in a line they begin and
// end, and touch nothing around them.
TEST_P(ScaleBiasOnIsa, StreamsTheSameBits) {
  for (const DataType type : TypesOf(types::kUpTo32)) {
    const int64_t width = static_cast<int64_t>(ByteWidth(type));
    for (const int64_t length : {1, 15, 16, 63, 64, 65, 200}) {
      Engine engine = CaseEngine(static_cast<int>(length));
      TestTensor input(type, PackedLayout({length}));
      FillRandomly(engine, input);
      for (int64_t start = 0; start < 64; start += width) {
        alignas(64) std::byte stored[1024] = {};
        alignas(64) std::byte streamed[1024] = {};
        const std::byte* from = input.view().data;
        ScaleBiasFor(type)({3.0f, -0.1f}, length, stored + start, from, false);
        ScaleBiasFor(type)({3.0f, -0.1f}, length, streamed + start, from, true);
        FlushStreams();
        ASSERT_EQ(std::memcmp(stored, streamed, sizeof stored), 0)
            << Name(type) << ", " << length << " elements from byte " << start;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ScaleBiasOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

TEST(ScaleBias, RowOfNothingTouchesNothing) {
  for (const DataType type : TypesOf(types::kUpTo32)) {
    uint64_t memory = 42;
    std::byte* to = reinterpret_cast<std::byte*>(&memory);
    for (const bool streams : {false, true}) {
      ScaleBiasFor(type)({2.0f, 1.0f}, 0, to, to, streams);
    }
    EXPECT_EQ(memory, 42u);
  }
}

}  // namespace
}  // namespace dmlop
