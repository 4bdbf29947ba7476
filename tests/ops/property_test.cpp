// Random calls of every operator: engine against reference.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/case_name.h"
#include "tests/support/random.h"
#include "tests/support/random_calls.h"
#include "tests/support/reduce_functions.h"

namespace dmlop {
namespace {

struct PropertyCase {
  std::string name;
  int count;
  std::function<OperatorCall(Engine&)> draw;
};

std::vector<PropertyCase> PropertyCases() {
  std::vector<PropertyCase> cases = {
      {"IDENTITY", 2000, RandomIdentity}, {"IDENTITY_WithScaleBias", 2000, RandomScaleBias},
      {"JOIN", 2000, RandomJoin},         {"SPLIT", 2000, RandomSplit},
      {"UNFOLD", 2000, RandomUnfold},
  };
  for (const ReduceFunction function : AllReduceFunctions()) {
    cases.push_back({"REDUCE_" + std::string(Name(function)), 1000,
                     [function](Engine& engine) { return RandomReduce(engine, function); }});
  }
  return cases;
}

class Property : public testing::TestWithParam<PropertyCase> {};

TEST_P(Property, AgreesWithReference) {
  for (int i = 0; i < GetParam().count; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    OperatorCall call = GetParam().draw(engine);
    ASSERT_TRUE(RunsLikeReference(call));
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Property, testing::ValuesIn(PropertyCases()),
                         CaseName<PropertyCase>);

}  // namespace
}  // namespace dmlop
