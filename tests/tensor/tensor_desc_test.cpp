// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor_desc.h"

#include <gtest/gtest.h>

#include "tests/support/case_name.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

TensorDesc Desc(DataType type, std::vector<uint32_t> sizes,
                std::optional<std::vector<uint32_t>> strides = std::nullopt) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = std::move(sizes);
  desc.strides = std::move(strides);
  return desc;
}

// --- DMLCalcBufferTensorSize ---------------------------------------------------------------------

struct SizeCase {
  std::string name;
  TensorDesc desc;
  uint64_t bytes;
};

using enum DataType;

const SizeCase kSizeCases[] = {
    {"RoundsHalvesUp", Desc(kFloat16, {5}), 12},
    {"RoundsBytesUp", Desc(kUint8, {3}), 4},
    {"LeadingOnes", Desc(kUint8, {1, 1, 1, 7}), 8},
    {"RowPadding", Desc(kFloat32, {1, 1, 2, 3}, {{10, 10, 5, 1}}), 32},
    {"BroadcastRows", Desc(kFloat32, {1, 1, 2, 3}, {{3, 3, 0, 1}}), 12},
    {"EveryOtherElement", Desc(kFloat32, {2, 3}, {{6, 2}}), 44},
    {"ChannelsLastWithGaps", Desc(kFloat16, {1, 2, 3, 3}, {{27, 1, 9, 3}}), 52},
    {"Double", Desc(kFloat64, {2, 3}), 48},
    {"FourBits", Desc(kUint4, {9}), 8},
    {"LargestTensor", Desc(kInt64, {0xFFFFFFFF}), 0x7FFFFFFF8},
    {"DoesNotWrapIn32Bits", Desc(kUint8, {2, 2}, {{0xFFFFFFFF, 0xFFFFFFFF}}), 0x200000000},
};

class ImpliedSize : public testing::TestWithParam<SizeCase> {};

TEST_P(ImpliedSize, IsThatOfDirectML) {
  EXPECT_EQ(ImpliedSizeInBytes(GetParam().desc), CheckedU64(GetParam().bytes));
}

INSTANTIATE_TEST_SUITE_P(Page, ImpliedSize, testing::ValuesIn(kSizeCases), CaseName<SizeCase>);

TEST(TensorDesc, ImpliedSizeSaysWhenItDoesNotFit) {
  const std::vector<uint32_t> huge(8, 0xFFFFFFFF);
  EXPECT_EQ(ImpliedSizeInBytes(Desc(kFloat32, huge)), std::nullopt);
}

TEST(TensorDesc, StatedSizeComesBeforeImplied) {
  TensorDesc desc = Desc(kFloat32, {3});
  EXPECT_EQ(SizeInBytes(desc), 12u);
  desc.total_tensor_size_in_bytes = 64;
  EXPECT_EQ(SizeInBytes(desc), 64u);
}

TEST(TensorDesc, LayoutIsPackedWithoutStrides) {
  EXPECT_EQ(LayoutOf(Desc(kFloat32, {2, 3})), (Layout{{2, 3}, {3, 1}}));
  EXPECT_EQ(LayoutOf(Desc(kFloat32, {2, 3}, {{1, 2}})), (Layout{{2, 3}, {1, 2}}));
}

// --- rules ---------------------------------------------------------------------------------------

struct RuleCase {
  std::string name;
  TensorRole role;
  void (*change)(TensorDesc& desc);  // applied to FLOAT32 {2, 3}
  std::string expected;              // "code pointer: message", empty for a valid desc
};

constexpr TensorRole kIn = TensorRole::kInput;
constexpr TensorRole kOut = TensorRole::kOutput;

const RuleCase kRuleCases[] = {
    {"Valid", kIn, [](TensorDesc&) {}, ""},
    {"InputMayOverlap", kIn,
     [](TensorDesc& d) {
       d.strides = {0, 0};
     },
     ""},
    {"OutputMayBePadded", kOut,
     [](TensorDesc& d) {
       d.strides = {5, 1};
     },
     ""},
    {"AlignmentOfElement", kIn, [](TensorDesc& d) { d.guaranteed_base_offset_alignment = 4; }, ""},
    {"ExactTotalSize", kIn, [](TensorDesc& d) { d.total_tensor_size_in_bytes = 24; }, ""},
    {"OutputOverlaps", kOut,
     [](TensorDesc& d) {
       d.strides = {2, 1};
     },
     "BUF-8 T/Strides: Strides {2, 1} let two elements of Sizes {2, 3} share a place in an output"},
    {"NoDimensions", kIn, [](TensorDesc& d) { d.sizes->clear(); },
     "BUF-1 T/Sizes: 0 dimensions are out of range [1, 8]"},
    {"NineDimensions", kIn, [](TensorDesc& d) { d.sizes->assign(9, 1); },
     "BUF-1 T/Sizes: 9 dimensions are out of range [1, 8]"},
    {"ZeroSize", kIn, [](TensorDesc& d) { (*d.sizes)[1] = 0; },
     "BUF-3 T/Sizes/1: a size of 0 is not allowed; sizes start at 1"},
    {"TotalSizeTooSmall", kIn, [](TensorDesc& d) { d.total_tensor_size_in_bytes = 20; },
     "BUF-9 T/TotalTensorSizeInBytes: 20 is too small for the tensor; expected at least 24"},
    {"TotalSizeUneven", kIn, [](TensorDesc& d) { d.total_tensor_size_in_bytes = 26; },
     "BUF-10 T/TotalTensorSizeInBytes: 26 is not a multiple of 4"},
    {"TooManyElements", kIn,
     [](TensorDesc& d) {
       *d.sizes = {0x10000, 0x10000};
     },
     "BUF-11 T/Sizes: Sizes {65536, 65536} have more than 4294967295 elements"},
    {"TooFarApart", kIn,
     [](TensorDesc& d) {
       d.strides = {0xFFFFFFFF, 1};
     },
     "BUF-11 T/Strides: Strides {4294967295, 1} spread Sizes {2, 3} over more than 4294967295 "
     "elements"},
    {"AlignmentNoPower", kIn, [](TensorDesc& d) { d.guaranteed_base_offset_alignment = 12; },
     "BUF-12 T/GuaranteedBaseOffsetAlignment: 12 is not a power of two"},
    {"AlignmentBelowElement", kIn, [](TensorDesc& d) { d.guaranteed_base_offset_alignment = 2; },
     "BUF-12 T/GuaranteedBaseOffsetAlignment: 2 is less than the 4 bytes of a FLOAT32 element"},
    {"WrongCount", kIn, [](TensorDesc& d) { d.dimension_count = 3; },
     "BUF-13 T/DimensionCount: 3 does not match the 2 entries of Sizes"},
    {"WrongStrides", kIn, [](TensorDesc& d) { d.strides = {1}; },
     "BUF-13 T/Strides: 1 entry does not match the 2 entries of Sizes"},
    {"Unknown", kIn, [](TensorDesc& d) { d.data_type = kUnknown; },
     "BUF-14 T/DataType: UNKNOWN is not a type of tensor elements"},
    {"OwnedOutput", kOut, [](TensorDesc& d) { d.owned_by_dml = true; },
     "BUF-15 T/Flags: DML_TENSOR_FLAG_OWNED_BY_DML is for inputs only"},
};

class TensorDescRules : public testing::TestWithParam<RuleCase> {};

TEST_P(TensorDescRules, AreReported) {
  TensorDesc desc = Desc(kFloat32, {2, 3});
  GetParam().change(desc);
  Diagnostics diagnostics;
  ValidateTensorDesc(desc, GetParam().role, "T", std::nullopt, diagnostics);
  std::string text;
  for (const Diagnostic& d : diagnostics.list())
    text += d.code + " " + d.pointer + ": " + d.message;
  EXPECT_EQ(text, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Rules, TensorDescRules, testing::ValuesIn(kRuleCases), CaseName<RuleCase>);

}  // namespace
}  // namespace dmlop
