// SPDX-License-Identifier: Apache-2.0
// Random calls of every operator of the table: engine against reference, also in place.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "tests/support/case_name.h"
#include "tests/support/random.h"
#include "tests/support/random_calls.h"

namespace dmlop {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewest = 20;  // calls of an operator, however long they take

// The time for all operators together: DMLOP_TEST_SECONDS, or a time that is acceptable in every
// run.
double TestSeconds() {
  const char* text = std::getenv("DMLOP_TEST_SECONDS");
  return text != nullptr ? std::strtod(text, nullptr) : 20.0;
}

class Property : public testing::TestWithParam<RandomOperator> {};

TEST_P(Property, AgreesWithReference) {
  static const double seconds = TestSeconds() / static_cast<double>(RandomOperators().size());
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  int count = 0;
  for (; count < kFewest || Clock::now() < end; ++count) {
    SCOPED_TRACE(CaseTrace(count));
    Engine engine = CaseEngine(count);
    OperatorCall call = GetParam().draw(engine);
    ASSERT_TRUE(RunsLikeReference(call));
    if (!MayRunInPlace(call)) continue;
    ASSERT_TRUE(RunsLikeReferenceInPlace(call));
  }
  RecordProperty("calls", count);
}

TEST_P(Property, RunsFromItsMinimumLevelOn) {
  for (int i = 0; i < kFewest; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const OperatorDesc desc = GetParam().draw(engine).desc;
    const FeatureLevel minimum = MinimumFeatureLevel(desc);
    for (const FeatureLevel level : FeatureLevels()) {
      OperatorDesc judged = desc;
      Diagnostics diagnostics;
      Check(judged, level, diagnostics);
      ASSERT_EQ(diagnostics.has_errors(), level < minimum) << ToString(level);
    }
  }
}

// Callers of the library may leave out any field; readers of documents refuse that themselves.
TEST_P(Property, NeedsItsTensors) {
  for (int i = 0; i < kFewest; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const OperatorDesc desc = GetParam().draw(engine).desc;
    for (const Field* field : desc.fields()) {
      OperatorDesc judged = desc;
      judged.Remove(*field);
      Diagnostics diagnostics;
      Check(judged, FeatureLevels().back(), diagnostics);
      const bool is_needed = field->is_tensor() && !field->optional;
      EXPECT_TRUE(diagnostics.has_errors() || !is_needed) << field->name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Property, testing::ValuesIn(RandomOperators()),
                         CaseName<RandomOperator>);

}  // namespace
}  // namespace dmlop
