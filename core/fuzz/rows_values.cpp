// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/values.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/fuzz/field_value.h"
#include "core/tensor/layout.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

struct DomainRow {
  std::string_view operators;  // patterns, separated by blanks
  std::string_view tensor;
  ValueDomain domain;
};

constexpr bool kLimited = true;
constexpr DomainRow kDomains[] = {
    {"ELEMENT_WISE_LOG ELEMENT_WISE_SQRT", "InputTensor", {0, 64}},
    {"ELEMENT_WISE_ACOSH", "InputTensor", {1, 64}},
    {"ELEMENT_WISE_ACOS ELEMENT_WISE_ASIN ELEMENT_WISE_ATANH", "InputTensor", {-0.9995, 0.9995}},
    {"ELEMENT_WISE_EXP ELEMENT_WISE_SINH ELEMENT_WISE_COSH", "InputTensor", {-9, 9}},
    {"ELEMENT_WISE_CONSTANT_POW", "InputTensor", {0, 9}},
    {"ELEMENT_WISE_POW", "InputTensor", {0, 9}},
    {"ELEMENT_WISE_POW", "ExponentTensor", {-3, 3}},
    {"ELEMENT_WISE_IF", "ConditionTensor", {0, 1, true}},
    {"*LOGICAL", "", {0, 2, true}},
    {"*BATCH_NORMALIZATION", "VarianceTensor", {0.01, 4, false, kLimited}},
    {"ADAM_OPTIMIZER", "InputSecondMomentTensor", {0, 1, false, kLimited}},
    {"ADAM_OPTIMIZER", "TrainingStepTensor", {1, 100, true, kLimited}},
    {"*QUANT", "*Scale", {0.01, 2, false, kLimited}},
    {"QUANTIZE DEQUANTIZE", "QuantizationTensors/0", {0.01, 2, false, kLimited}},
    {"*INTEGER", "*Scale", {0.01, 2, false, kLimited}},
    {"*ROI", "ROITensor", {-3, 12}},
    {"*MULTIHEAD", "MaskTensor", {0, 6, true, kLimited}},
};

struct ChoiceRow {
  std::string_view operators;
  Choice choice;
};

constexpr ChoiceRow kChoices[] = {
    {"*MAX_POOLING TOP_K TOP_K1 ARGMIN ARGMAX *HARDMAX ROI_POOLING", Choice::kOfInputs},
    {"*QUANT *SOFTMAX", Choice::kOfValues},
    {"*MULTIHEAD", Choice::kOfSums},
};

ElementWiseFunction FunctionOf(const OperatorDesc& op) {
  const auto* family = std::get_if<ElementWise>(&op.info().family);
  return family == nullptr ? ElementWiseFunction::kCount : family->function;
}

Choice ChoiceOf(ElementWiseFunction function, bool is_scaled) {
  using F = ElementWiseFunction;
  switch (function) {
    case F::kMax:
    case F::kMin:
    case F::kClip:
    case F::kThreshold:
    case F::kRelu:
      return is_scaled ? Choice::kOfValues : Choice::kOfInputs;
    case F::kHardSigmoid:
    case F::kHardSwish:
    case F::kCelu:
      return Choice::kOfValues;
    default:
      return Choice::kNone;
  }
}

// An extreme of elements, or of what is interpolated between them.
Choice ChoiceOfFunction(const OperatorDesc& op) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.name != "Function" && field.name != "ReductionFunction") continue;
    const std::string_view name = field.names.names[std::get<uint32_t>(op.values()[i])];
    const bool is_extreme = name.ends_with("MAX") || name.ends_with("MIN");
    if (!is_extreme) return Choice::kNone;
    return field.name == "Function" ? Choice::kOfInputs : Choice::kOfSums;
  }
  return Choice::kNone;
}

// Returns whether a fused activation, or that of a gate, chooses, or a network cuts its numbers
// off.
bool ActivationsChoose(const OperatorDesc& op) {
  for (const FieldValue& value : op.values()) {
    const auto* activations = std::get_if<std::vector<OperatorDesc>>(&value);
    if (activations == nullptr) continue;
    for (const OperatorDesc& activation : *activations) {
      const bool is_soft = IsOneOf(activation.name(), "*MAX");
      if (is_soft || ChoiceOf(FunctionOf(activation), false) != Choice::kNone) return true;
    }
  }
  return HasField(op, "ClipThreshold");
}

DataType OutputType(const OperatorDesc& op) {
  return *TensorSlots(op, TensorRole::kOutput).front().desc->data_type;
}

// Floats that are in the range of an integer type when they are cut off.
ValueDomain RangeAsFloats(DataType type) {
  ValueDomain domain{.is_limited = true};
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto [least, most] = RangeOf<T>(type);
      domain.least = std::max(AsDouble(least), -60000.0);
      domain.most = std::min(AsDouble(most), 60000.0);
    }
  });
  return domain;
}

bool DividesIntegers(const OperatorDesc& op) {
  using F = ElementWiseFunction;
  const F function = FunctionOf(op);
  return (function == F::kDivide || function == F::kModulusTruncate ||
          function == F::kModulusFloor) &&
         !IsFloat(OutputType(op));
}

bool IsShift(const OperatorDesc& op) {
  const ElementWiseFunction function = FunctionOf(op);
  return function == ElementWiseFunction::kBitShiftLeft ||
         function == ElementWiseFunction::kBitShiftRight;
}

bool IsPower(const OperatorDesc& op) {
  const ElementWiseFunction function = FunctionOf(op);
  return function == ElementWiseFunction::kPow || function == ElementWiseFunction::kConstantPow;
}

// --- places --------------------------------------------------------------------------------------

// `count` different numbers below `below`.
std::vector<int64_t> Distinct(RandomEngine& engine, int64_t count, int64_t below) {
  std::vector<int64_t> numbers(static_cast<size_t>(below));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    std::swap(numbers[i], numbers[DrawBetween(engine, i, numbers.size() - 1)]);
  }
  numbers.resize(static_cast<size_t>(count));
  return numbers;
}

int64_t CountOf(const OperatorDesc& op, const FieldOf<TensorDesc>& tensor) {
  return LayoutOf(op[tensor]).element_count();
}

class PlaceDrawer {
 public:
  PlaceDrawer(const OperatorDesc& op, RandomEngine& engine, const TensorView& places)
      : op_(op), engine_(engine), places_(places) {}

  bool Draw() {
    if (HasOverlap(places_.layout)) return false;
    if (HasTuples(op_)) return DrawTuples();
    return HasField(op_, "Axis") ? DrawAlongAxis() : DrawAll();
  }

 private:
  // Any elements of the output.
  bool DrawAll() {
    const int64_t below = CountOf(op_, kOutputTensor);
    const int64_t count = places_.layout.element_count();
    if (count > below) return false;
    auto place = Distinct(engine_, count, below);
    auto next = place.begin();
    ForEachElement(places_, [&](std::byte* element) { SetWhole(places_.type, *next++, element); });
    return true;
  }

  // Along the axis no two are the same.
  bool DrawAlongAxis() {
    const size_t axis = Get<uint32_t>(op_, "Axis");
    const int64_t below = op_.sizes(kInputTensor)[axis];
    const int64_t count = places_.layout.sizes[axis];
    if (count > below) return false;
    TensorView firsts = places_.Slice(axis, 0, 1);
    ForEachElement(firsts, [&](std::byte* first) {
      int64_t offset = 0;
      for (const int64_t place : Distinct(engine_, count, below)) {
        Set(place, below, first + offset);
        offset += places_.layout.strides[axis] * static_cast<int64_t>(ByteWidth(places_.type));
      }
    });
    return true;
  }

  // Tuples along the last dimension, for the first dimensions of the data.
  bool DrawTuples() {
    const size_t dims = Get<uint32_t>(op_, "InputDimensionCount");
    const std::vector<uint32_t>& data = op_.sizes(kInputTensor);
    const size_t last = places_.layout.rank() - 1;
    const auto chosen = static_cast<size_t>(places_.layout.sizes[last]);
    const auto begin = data.end() - static_cast<ptrdiff_t>(dims);
    const Dims sizes(begin, begin + static_cast<ptrdiff_t>(chosen));
    const int64_t count = places_.layout.element_count() / places_.layout.sizes[last];
    if (count > Product(sizes)) return false;
    const std::vector<int64_t> numbers = Distinct(engine_, count, Product(sizes));
    int64_t k = 0;
    Dims tuple;
    ForEachElement(places_, [&](std::byte* element) {
      const auto column = static_cast<size_t>(k % static_cast<int64_t>(chosen));
      if (column == 0) {
        tuple = IndexOf(sizes, numbers[static_cast<size_t>(k / static_cast<int64_t>(chosen))]);
      }
      Set(tuple[column], sizes[column], element);
      ++k;
    });
    return true;
  }

  // Signed indices may count from the end.
  void Set(int64_t place, int64_t below, std::byte* element) {
    const bool is_negative = IsSigned(places_.type) && DrawBetween(engine_, 0, 3) == 0;
    SetWhole(places_.type, is_negative ? place - below : place, element);
  }

  const OperatorDesc& op_;
  RandomEngine& engine_;
  const TensorView& places_;
};

// The first number of a region is that of its image.
void MendRegions(const OperatorDesc& op, const TensorView& regions) {
  const TensorView images = regions.Slice(regions.layout.rank() - 1, 0, 1);
  const double count = op.sizes(kInputTensor)[0];
  ForEachElement(images, [&](std::byte* element) {
    const double number = std::fmod(std::abs(std::trunc(ValueOf(images.type, element))), count);
    SetWhole(images.type, number >= 0 ? static_cast<int64_t>(number) : 0, element);
  });
}

}  // namespace

ValueDomain DomainOf(const OperatorDesc& op, const TensorSlot& input) {
  const DataType type = *input.desc->data_type;
  if (FunctionOf(op) == ElementWiseFunction::kCast && IsFloat(type) && !IsFloat(OutputType(op))) {
    return RangeAsFloats(OutputType(op));
  }
  if (IsShift(op) && input.path == kBTensor.name) {
    return {0, static_cast<double>(BitWidth(type)) - 1, true, kLimited};
  }
  if (IsPower(op) && !IsFloat(OutputType(op))) return {0, 3, true, kLimited};
  for (const DomainRow& row : kDomains) {
    if (!IsOneOf(op.name(), row.operators)) continue;
    if (row.tensor.empty() || IsOf(input.path, row.tensor)) return row.domain;
  }
  return {};
}

Choice ChoiceOf(const OperatorDesc& op) {
  for (const ChoiceRow& row : kChoices) {
    if (IsOneOf(op.name(), row.operators)) return row.choice;
  }
  if (HasField(op, "Function") || HasField(op, "ReductionFunction")) return ChoiceOfFunction(op);
  if (FunctionOf(op) == ElementWiseFunction::kCast && !IsFloat(OutputType(op))) {
    return Choice::kOfValues;
  }
  if (ActivationsChoose(op)) return Choice::kOfSums;
  return ChoiceOf(FunctionOf(op), op.find_if_known(kScaleBias) != nullptr);
}

bool HasIndices(const TensorSlot& input) {
  return IsOf(input.path, "*Indices") || IsOf(input.path, "*SequenceLengths");
}

bool HasTuples(const OperatorDesc& op) {
  return HasField(op, "IndicesDimensionCount");
}

bool HasPlaces(const OperatorDesc& op, const TensorSlot& input) {
  return IsOneOf(op.name(), "SCATTER SCATTER_ND MAX_UNPOOLING") && input.path == "IndicesTensor";
}

bool DrawPlaces(const OperatorDesc& op, RandomEngine& engine, const TensorView& places) {
  return PlaceDrawer(op, engine, places).Draw();
}

void MendValues(const OperatorDesc& op, const TensorSlot& input, const TensorView& values) {
  const bool is_divisor = DividesIntegers(op) && input.path == kBTensor.name;
  // The rows of coordinates beyond the last number that is not 0 may have any values.
  const bool is_counted = op.name() == "NONZERO_COORDINATES";
  if (op.name() == "ROI_POOLING" && input.path == "ROITensor") return MendRegions(op, values);
  if (!is_divisor && !is_counted) return;
  ForEachElement(values, [&](std::byte* element) {
    if (ValueOf(values.type, element) == 0) SetWhole(values.type, 1, element);
  });
}

}  // namespace dmlop
