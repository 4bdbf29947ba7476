// SPDX-License-Identifier: Apache-2.0
// Measures the cost of data whose results are hard to round: the reduce functions on each family of
// groups that the tests draw, compared with uniform numbers. Each row has:
//
//   slow_over_fast  the best time of the family's data over that of the uniform ones
#include <limits>
#include <string>

#include "bench/fixture.h"
#include "core/tensor/half.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/support/group_values.h"

namespace dmlop {
namespace {

constexpr uint32_t kElements = 1 << 22;
constexpr uint32_t kGroups = 1009;  // number of groups that are drawn; they are repeated

// Groups of `length` elements along one of two axes.
struct Form {
  const char* name;
  uint32_t length;
  uint32_t axis;
};

constexpr Form kForms[] = {{"rows of 7", 7, 1},
                           {"rows of 100", 100, 1},
                           {"rows of 4096", 4096, 1},
                           {"columns of 7", 7, 0},
                           {"columns of 100", 100, 0}};

OperatorDesc DescOf(ReduceFunction function, DataType type, const Form& form) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  const uint32_t groups = kElements / form.length;
  Set(desc, "InputTensor",
      form.axis == 1 ? Desc(type, {groups, form.length}) : Desc(type, {form.length, groups}));
  Set(desc, "Axes", {form.axis});
  return desc;
}

template <typename T>
void Fill(const GroupFamily& family, const Form& form, T* elements) {
  Engine engine = CaseEngine(0);
  std::vector<std::vector<double>> groups;
  while (groups.size() < kGroups) groups.push_back(family.draw(engine, form.length));
  const size_t count = kElements / form.length;
  const size_t step = form.axis == 1 ? 1 : count;
  for (size_t g = 0; g < count; ++g) {
    T* element = elements + (form.axis == 1 ? g * form.length : g);
    for (const double value : groups[g % kGroups]) {
      *element = FromDouble<T>(value);
      element += step;
    }
  }
}

template <typename T>
void Compare(benchmark::State& state, const OperatorDesc& desc, const GroupFamily& uniform,
             const GroupFamily& family, const Form& form) {
  Workload fast(desc), slow(desc);
  Fill(uniform, form, reinterpret_cast<T*>(fast.input(0)));
  Fill(family, form, reinterpret_cast<T*>(slow.input(0)));
  double best_fast = std::numeric_limits<double>::infinity();
  double best_slow = best_fast;
  for (auto _ : state) {
    best_fast = std::min(best_fast, SecondsOf(fast));
    best_slow = std::min(best_slow, SecondsOf(slow));
  }
  state.counters["slow_over_fast"] = best_slow / best_fast;
}

template <typename T>
void RegisterType(DataType type) {
  static const std::vector<GroupFamily> families = GroupFamilies<T>();
  for (size_t i = 0; i < kReduceFunctionNames.size(); ++i) {
    const ReduceFunction function = static_cast<ReduceFunction>(i);
    for (const Form& form : kForms) {
      for (const GroupFamily& family : families) {
        const std::string name = std::string(Name(function)) + "/" + std::string(Name(type)) + "/" +
                                 form.name + "/" + family.name;
        benchmark::RegisterBenchmark(name.c_str(), Compare<T>, DescOf(function, type, form),
                                     families.front(), family, form)
            ->Iterations(7);
      }
    }
  }
}

const bool kRegistered = [] {
  RegisterType<float>(DataType::kFloat32);
  RegisterType<Half>(DataType::kFloat16);
  return true;
}();

}  // namespace
}  // namespace dmlop
