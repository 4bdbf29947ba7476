// Random calls of every operator: engine against reference.

#include <gtest/gtest.h>

#include "tests/support/case_name.h"
#include "tests/support/random.h"
#include "tests/support/random_calls.h"

namespace dmlop {
namespace {

class Property : public testing::TestWithParam<RandomOperator> {};

TEST_P(Property, AgreesWithReference) {
  for (int i = 0; i < 1200; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    OperatorCall call = GetParam().draw(engine);
    ASSERT_TRUE(RunsLikeReference(call));
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Property, testing::ValuesIn(RandomOperators()),
                         CaseName<RandomOperator>);

}  // namespace
}  // namespace dmlop
