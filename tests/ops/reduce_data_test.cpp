// SPDX-License-Identifier: Apache-2.0
// Every function on every family of data, type, choice of axes and form of strides: compared with
// the reference, and with the same bits on every instruction set.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/fuzz/random_desc.h"
#include "core/ops/operator.h"
#include "core/tensor/visit_data_type.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/group_values.h"
#include "tests/support/random_tensor.h"
#include "tests/support/reduce_forms.h"
#include "tests/support/reduce_functions.h"

namespace dmlop {
namespace {

constexpr int kDrawsPerAxes = 3;

// --- axes ----------------------------------------------------------------------------------------

// One letter for each dimension: reduced or kept.
const std::string_view kAxes[] = {"kr", "rk", "krk", "rrr", "rkr", "krkr", "kk"};

std::vector<uint32_t> AxesOf(std::string_view dimensions) {
  std::vector<uint32_t> axes;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d] == 'r') axes.push_back(static_cast<uint32_t>(d));
  }
  return axes;
}

// Short groups, and lengths around the widths of vectors and kernel blocks.
int RandomLength(Engine& engine) {
  if (!OneIn(engine, 3)) return UniformInt(engine, 1, 40);
  const int widths[] = {32, 64, 128, 256, 512, 1024};
  const int width = OneOf(engine, widths);
  return width + UniformInt(engine, -1, 1);
}

Dims SizesFor(Engine& engine, std::string_view dimensions) {
  constexpr int kMostKept = 40;
  constexpr int kMostElements = 2000;
  int reduced = RandomLength(engine);
  int kept = std::min(UniformInt(engine, 1, kMostKept), 1 + kMostElements / reduced);
  Dims sizes;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    int& room = dimensions[d] == 'r' ? reduced : kept;
    const bool last = dimensions.find(dimensions[d], d + 1) == std::string_view::npos;
    const int size = last ? room : UniformInt(engine, 1, std::min(room, 4));
    sizes.push_back(size);
    room /= size;
  }
  return sizes;
}

// --- data ----------------------------------------------------------------------------------------

// Broadcasts the elements at one place along a dimension.
TestTensor Repeated(Engine& engine, const TestTensor& tensor) {
  Dims strides = PackedStrides(tensor.layout().sizes);
  strides[engine() % strides.size()] = 0;
  return WithStrides(strides, tensor);
}

struct DataCase {
  std::string name;
  DataType type;
  std::optional<GroupFamily> family;  // null for any values

  friend void PrintTo(const DataCase& data, std::ostream* out) { *out << data.name; }
};

std::vector<DataCase> DataCases() {
  std::vector<DataCase> cases;
  for (const GroupFamily& family : GroupFamilies<float>()) {
    cases.push_back({"FLOAT32_" + family.name, DataType::kFloat32, family});
  }
  for (const GroupFamily& family : GroupFamilies<Half>()) {
    cases.push_back({"FLOAT16_" + family.name, DataType::kFloat16, family});
  }
  using Integers = Join<Integers64, Integers32, Integers16, Integers8>;
  for (const DataType type : TypesOf(Integers::kSet)) {
    cases.push_back({std::string(Name(type)), type, std::nullopt});
  }
  return cases;
}

// --- the test ------------------------------------------------------------------------------------

class ReduceData : public testing::TestWithParam<DataCase> {
 protected:
  TestTensor Draw(Engine& engine, std::string_view dimensions) {
    TestTensor tensor(GetParam().type, PackedLayout(SizesFor(engine, dimensions)));
    if (GetParam().family) {
      FillGroups(engine, *GetParam().family, AxesOf(dimensions), tensor);
    } else {
      FillRandomly(engine, tensor);
    }
    return tensor;
  }
};

struct Form {
  TestTensor input;
  StridesFunction output_strides;
};

// The tensors are too small for a second thread.
constexpr int kOneThread[] = {1};

void CheckAllFunctions(Engine& engine, const std::vector<uint32_t>& axes, const TestTensor& packed,
                       const std::vector<Form>& forms) {
  for (const ReduceFunction function : AllReduceFunctions()) {
    OperatorDesc desc = OperatorNamed("REDUCE");
    Set(desc, "Function", function);
    if (!SupportFor(desc)->rows.back().TypesOf(TypeVariable::kT).Contains(packed.type())) continue;
    const DataType index_type = OneOf(engine, TypesOf(types::kInt64s | types::kInt32s));
    OperatorCall call = ReduceCall(function, axes, packed, index_type);
    ASSERT_TRUE(RunsLikeReference(call));
    for (const Form& form : forms) {
      ASSERT_TRUE(GivesTheSame(call, form.input, form.output_strides, kOneThread));
    }
  }
}

TEST_P(ReduceData, AgreesWithReferenceInEveryForm) {
  int number = 0;
  for (const std::string_view dimensions : kAxes) {
    for (int draw = 0; draw < kDrawsPerAxes; ++draw) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      const TestTensor packed = Draw(engine, dimensions);
      std::vector<Form> forms;
      for (const StrideForm& form : kStrideForms) {
        forms.push_back({WithStrides(form.input(packed.layout().sizes), packed), form.output});
      }
      ASSERT_NO_FATAL_FAILURE(CheckAllFunctions(engine, AxesOf(dimensions), packed, forms));
    }
  }
}

TEST_P(ReduceData, AgreesWithReferenceOnRepeatedElements) {
  int number = 1000;
  for (const std::string_view dimensions : kAxes) {
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number++);
    const TestTensor repeated = Repeated(engine, Draw(engine, dimensions));
    const TestTensor packed = WithStrides(PackedStrides(repeated.layout().sizes), repeated);
    ASSERT_NO_FATAL_FAILURE(
        CheckAllFunctions(engine, AxesOf(dimensions), packed, {{repeated, StridesOfEveryOther}}));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ReduceData, testing::ValuesIn(DataCases()), CaseName<DataCase>);

}  // namespace
}  // namespace dmlop
