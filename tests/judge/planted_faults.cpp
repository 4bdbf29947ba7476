// SPDX-License-Identifier: Apache-2.0
#include "tests/judge/planted_faults.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "core/fuzz/case_change.h"
#include "core/fuzz/field_value.h"

namespace dmlop {
namespace {

// --- what predicates ask -------------------------------------------------------------------------

int64_t Number(const Computation& c, std::string_view path) {
  return NumberAt(c.op, path).value_or(-1);
}

const TensorDesc* Tensor(const Computation& c, std::string_view path) {
  for (const TensorSlot& slot : TensorSlots(c.op)) {
    if (slot.path == path) return slot.desc;
  }
  return nullptr;
}

bool Has(const Computation& c, std::string_view path) {
  return Tensor(c, path) != nullptr;
}

int64_t Size(const Computation& c, std::string_view path, int dimension) {
  const TensorDesc* tensor = Tensor(c, path);
  if (tensor == nullptr) return -1;
  const auto rank = static_cast<int>(tensor->rank());
  return (*tensor->sizes)[static_cast<size_t>(dimension < 0 ? rank + dimension : dimension)];
}

int64_t Width(const Computation& c) {
  return Size(c, TensorSlots(c.op).front().path, -1);
}

std::string Word(const Computation& c, std::string_view path) {
  const auto value = ValueAt(c.op, path);
  return value ? ToText(*value) : "";
}

DataType Type(const Computation& c) {
  return *TensorSlots(c.op).front().desc->data_type;
}

bool IsPermuted(const Computation& c) {
  return LayoutKindOf(*TensorSlots(c.op).front().desc) == LayoutKind::kPermuted;
}

bool AnyValue(const Computation& c, bool (*is)(double), size_t tensor = 0) {
  const ConstTensorView& input = c.inputs[tensor];
  for (int64_t k = 0; k < input.layout.element_count(); ++k) {
    const auto offset =
        OffsetOfElement(input.layout, k) * static_cast<int64_t>(ByteWidth(input.type));
    if (is(ValueOf(input.type, input.data + offset))) return true;
  }
  return false;
}

// --- the table -----------------------------------------------------------------------------------

// Returns whether an entry of an array is so.
bool AnyEntry(const Computation& c, std::string_view field, bool (*is)(int64_t)) {
  for (int k = 0; Number(c, fmt::format("{}/{}", field, k)) >= 0; ++k) {
    if (is(Number(c, fmt::format("{}/{}", field, k)))) return true;
  }
  return false;
}

double Scalar(const Computation& c, std::string_view path) {
  const auto value = ValueAt(c.op, path);
  return value ? std::get<double>(*value) : 0;
}

const Planted kAll[] = {
    // Fields.
    // Channels go with the square of the size of blocks.
    {"OrderOfBlocks",
     "DEPTH_TO_SPACE1",
     [](const Computation& c) {
       const int64_t block = Number(c, "BlockSize");
       return Word(c, "Order") == "COLUMN_ROW_DEPTH" && block > 1 &&
              Size(c, "InputTensor", 1) > block * block;
     },
     16,
     4,
     {"BlockSize >= 2", "only with Order COLUMN_ROW_DEPTH"}},
    {"PaddingsExchanged",
     "CONVOLUTION",
     [](const Computation& c) {
       for (int d = 0; Number(c, fmt::format("StartPadding/{}", d)) >= 0; ++d) {
         if (Number(c, fmt::format("StartPadding/{}", d)) !=
             Number(c, fmt::format("EndPadding/{}", d))) {
           return true;
         }
       }
       return false;
     },
     4,
     3,
     {"StartPadding[0] != EndPadding[0]"}},
    {"Elements",
     "ELEMENT_WISE_ABS",
     [](const Computation& c) { return c.inputs[0].layout.element_count() >= 21; },
     42,
     1,
     {"W >= 21"}},
    {"Groups",
     "CONVOLUTION",
     [](const Computation& c) { return Number(c, "GroupCount") > 1; },
     6,
     3,
     {"GroupCount >= 2"}},
    {"Dilated",
     "CONVOLUTION",
     [](const Computation& c) { return AnyEntry(c, "Dilations", [](int64_t d) { return d > 1; }); },
     3,
     3,
     {"Dilations[0] >= 2"}},
    {"StrideOfThree",
     "MAX_POOLING",
     [](const Computation& c) { return AnyEntry(c, "Strides", [](int64_t d) { return d == 3; }); },
     2,
     4,
     {"only with Strides["}},
    {"PaddedMoreBefore",
     "CONVOLUTION",
     [](const Computation& c) {
       for (int d = 0; Number(c, fmt::format("StartPadding/{}", d)) >= 0; ++d) {
         if (Number(c, fmt::format("StartPadding/{}", d)) >
             Number(c, fmt::format("EndPadding/{}", d))) {
           return true;
         }
       }
       return false;
     },
     4,
     3,
     {"fails with StartPadding[0] > EndPadding[0]; any other field, any size"}},
    {"NegativeStrides",
     "SLICE1",
     [](const Computation& c) {
       for (size_t d = 0; d < RankOf(c.op); ++d) {
         if (Number(c, fmt::format("InputWindowStrides/{}", d)) < 0) return true;
       }
       return false;
     },
     2,
     1,
     {"fails with InputWindowStrides[0] <= -1; any other field, any size"}},
    {"WindowsWiderThanHigh",
     "AVERAGE_POOLING",
     [](const Computation& c) {
       const bool is_flat = Number(c, "WindowSize/2") < 0;
       return Number(c, is_flat ? "WindowSize/1" : "WindowSize/2") >
              Number(c, is_flat ? "WindowSize/0" : "WindowSize/1");
     },
     3,
     4,
     {"WindowSize[0] < WindowSize[1]"}},
    {"Transposed",
     "GEMM",
     [](const Computation& c) { return Word(c, "TransA") == "TRANSPOSE"; },
     3,
     2,
     {"only with TransA TRANSPOSE"}},
    {"Backward",
     "CONVOLUTION",
     [](const Computation& c) { return Word(c, "Direction") == "BACKWARD"; },
     3,
     3,
     {"only with Direction BACKWARD"}},
    {"NegativeAlpha",
     "ACTIVATION_ELU",
     [](const Computation& c) { return Scalar(c, "Alpha") <= -0.5; },
     2,
     1,
     {"Alpha <= -0.5"}},
    {"AlphaForgotten",
     "GEMM",
     [](const Computation& c) { return Scalar(c, "Alpha") != 1; },
     3,
     2,
     {"not with Alpha 1"}},
    {"FirstIndexOfEqual",
     "ARGMAX",
     [](const Computation& c) { return Word(c, "AxisDirection") == "DECREASING"; },
     2,
     1,
     {"only with AxisDirection DECREASING"}},
    {"ManyOfTopK",
     "TOP_K",
     [](const Computation& c) { return Number(c, "K") > 8; },
     27,
     1,
     {"K >= 9"}},
    {"PositiveMin",
     "ELEMENT_WISE_CLIP",
     [](const Computation& c) { return Scalar(c, "Min") >= 0; },
     2,
     1,
     {"Min >= 0"}},
    {"LastAxis",
     "GATHER",
     [](const Computation& c) { return Number(c, "Axis") == LastAxisOf(c.op); },
     3,
     1,
     {"only with Axis last"}},
    {"FirstOfSeveralAxes",
     "REDUCE",
     [](const Computation& c) {
       return Number(c, "Axes/1") >= 0 &&
              AnyEntry(c, "Axes", [](int64_t axis) { return axis == 0; });
     },
     2,
     2,
     {"AxisCount >= 2", "only with Axes[", "] 0"}},
    {"LastTwoAxes",
     "REDUCE",
     [](const Computation& c) {
       const int64_t last = LastAxisOf(c.op);
       int64_t found = 0;
       for (const int entry : {0, 1}) {
         found += Number(c, fmt::format("Axes/{}", entry)) >= std::max<int64_t>(last - 1, 0);
       }
       return found == 2;
     },
     3,
     2,
     {"] last"}},
    // Tensors that are there.
    {"CTensorForgotten",
     "GEMM",
     [](const Computation& c) { return Has(c, "CTensor") && Word(c, "Beta") != "0"; },
     4,
     2,
     {"only with CTensor", "not with Beta 0"}},
    {"Bias",
     "CONVOLUTION",
     [](const Computation& c) { return Has(c, "BiasTensor"); },
     4,
     3,
     {"only with BiasTensor"}},
    {"NoBias",
     "CONVOLUTION",
     [](const Computation& c) { return !Has(c, "BiasTensor"); },
     3,
     3,
     {"not with BiasTensor"}},
    {"Activation",
     "GEMM",
     [](const Computation& c) { return FusedActivationOf(c.op) != nullptr; },
     3,
     2,
     {"only with FusedActivation"}},
    {"ThreeInputs",
     "JOIN",
     [](const Computation& c) { return Has(c, "InputTensors/2"); },
     6,
     1,
     {"InputTensors >= 3"}},
    {"TwoOutputs",
     "SPLIT",
     [](const Computation& c) { return Has(c, "OutputTensors/1"); },
     4,
     1,
     {"OutputTensors >= 2"}},
    {"SecondOutput",
     "MAX_POOLING1",
     [](const Computation& c) { return Has(c, "OutputIndicesTensor"); },
     3,
     4,
     {"only with OutputIndicesTensor"}},
    // Sizes and ranks.
    {"RaggedTail",
     "ELEMENT_WISE_ADD",
     [](const Computation& c) { return Width(c) % 16 == 15; },
     45,
     1,
     {"W mod 16 = 15"}},
    {"OddOfThree",
     "ELEMENT_WISE_TANH",
     [](const Computation& c) { return Width(c) % 3 == 2; },
     4,
     1,
     {"W mod 3 = 2"}},
    {"Wide",
     "ELEMENT_WISE_SQRT",
     [](const Computation& c) { return Width(c) > 16; },
     34,
     1,
     {"W >= 17"}},
    {"OneElementRows",
     "ELEMENT_WISE_COS",
     [](const Computation& c) { return Width(c) == 1 && RankOf(c.op) > 2; },
     2,
     3,
     {"rank >= 3", "only with W 1"}},
    {"SixDimensions",
     "ELEMENT_WISE_NEGATE",
     [](const Computation& c) { return RankOf(c.op) >= 6; },
     2,
     6,
     {"rank >= 6"}},
    {"BatchOfFour",
     "MAX_POOLING",
     [](const Computation& c) { return Size(c, "InputTensor", 0) % 4 == 0; },
     8,
     4,
     {"N mod 4 = 0"}},
    {"HiddenSize",
     "GRU",
     [](const Computation& c) { return Size(c, "RecurrenceTensor", 3) >= 3; },
     40,
     4,
     {"RecurrenceTensor.W >= 3"}},
    {"TwoGates",
     "LSTM",
     [](const Computation& c) { return Size(c, "InputTensor", 1) > 1; },
     100,
     4,
     {"C >= 2"}},
    {"LongSums",
     "REDUCE",
     [](const Computation& c) {
       return Size(c, "InputTensor", -1) > 32 && Word(c, "Function") == "SUM";
     },
     66,
     1,
     {"W >= 33", "only with Function SUM"}},
    {"Inner",
     "GEMM",
     [](const Computation& c) {
       return Size(c, "ATensor", Word(c, "TransA") == "NONE" ? -1 : -2) >= 4;
     },
     9,
     2,
     {"W >= 4; any field"}},
    {"IndicesOfFive",
     "GATHER",
     [](const Computation& c) { return Size(c, "IndicesTensor", -1) == 5; },
     11,
     1,
     {"only with IndicesTensor.W 5"}},
    {"TallerThanWide",
     "ELEMENT_WISE_ERF",
     [](const Computation& c) {
       return RankOf(c.op) >= 2 && Size(c, "InputTensor", -2) > Width(c);
     },
     4,
     2,
     {"H > W"}},
    // Types, layouts, values.
    {"OnlyFloat16",
     "ELEMENT_WISE_EXP",
     [](const Computation& c) { return Type(c) == DataType::kFloat16; },
     2,
     1,
     {"only FLOAT16"}},
    {"Bytes",
     "ELEMENT_WISE_ADD",
     [](const Computation& c) { return ByteWidth(Type(c)) == 1; },
     3,
     1,
     {"UINT8 and INT8"}},
    {"Permuted", "ELEMENT_WISE_SIN", IsPermuted, 8, 2, {"only with InputTensor permuted"}},
    // Sizes of outputs that follow from several fields and sizes.
    {"OutputWidth",
     "MAX_POOLING",
     [](const Computation& c) { return Size(c, "OutputTensor", -1) >= 5; },
     10,
     4,
     {"fails with OutputTensor.W >= 5; any field, any other size"}},
    {"OutputResidue",
     "CONVOLUTION",
     [](const Computation& c) { return Size(c, "OutputTensor", -1) % 4 == 3; },
     7,
     3,
     {"OutputTensor.W mod 4 = 3"}},
    // Whatever the size of the dimension is.
    {"StrideOfZero",
     "ELEMENT_WISE_ADD",
     [](const Computation& c) { return std::ranges::count(c.inputs[1].layout.strides, 0) > 0; },
     3,
     1,
     {"only with BTensor broadcast"}},
    {"Subnormals",
     "ELEMENT_WISE_ABS",
     [](const Computation& c) {
       return Type(c) == DataType::kFloat32 &&
              AnyValue(c, [](double x) { return x != 0 && std::abs(x) < 0x1p-126; });
     },
     2,
     1,
     {"only FLOAT32", "values of InputTensor"}},
    {"IndicesBelowZero",
     "GATHER",
     [](const Computation& c) {
       return AnyValue(
           c, [](double x) { return x < 0; }, 1);
     },
     3,
     1,
     {"values of IndicesTensor below 0"}},
    {"NegativeInputs",
     "ACTIVATION_LEAKY_RELU",
     [](const Computation& c) { return AnyValue(c, [](double x) { return x < 0; }); },
     2,
     1,
     {"any field, any size, FLOAT32 and FLOAT16"}},
    {"TypeOfIndices",
     "GATHER",
     [](const Computation& c) { return *TensorSlots(c.op)[1].desc->data_type == DataType::kInt32; },
     3,
     1,
     {"fails only with IndicesTensor INT32; any field, any size, any other type"}},
    {"TypesOfBoth",
     "CAST",
     [](const Computation& c) {
       return *TensorSlots(c.op)[0].desc->data_type == DataType::kFloat16 &&
              ByteWidth(*TensorSlots(c.op)[1].desc->data_type) == 8;
     },
     2,
     1,
     {"only with InputTensor FLOAT16", "only with OutputTensor FLOAT64, UINT64 or INT64"}},
    {"NaN",
     "ELEMENT_WISE_SIGN",
     [](const Computation& c) { return AnyValue(c, [](double x) { return x != x; }); },
     2,
     1,
     {"values of InputTensor"}},
};

}  // namespace

std::span<const Planted> AllPlanted() {
  return kAll;
}

}  // namespace dmlop
