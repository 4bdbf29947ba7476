// Random calls of each operator, over everything that its support tables allow.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/operator_call.h"
#include "tests/support/random.h"

namespace dmlop {

// The element types of a set.
std::vector<DataType> TypesOf(DataTypeSet set);

OperatorCall RandomIdentity(Engine& engine);
OperatorCall RandomScaleBias(Engine& engine);
OperatorCall RandomJoin(Engine& engine);
OperatorCall RandomSplit(Engine& engine);
OperatorCall RandomReduce(Engine& engine, ReduceFunction function);
OperatorCall RandomUnfold(Engine& engine);
OperatorCall RandomElementWise(Engine& engine, std::string_view name);
OperatorCall RandomSlice(Engine& engine);
OperatorCall RandomFill(Engine& engine);

struct RandomOperator {
  std::string name;
  std::function<OperatorCall(Engine&)> draw;

  friend void PrintTo(const RandomOperator& random, std::ostream* out) { *out << random.name; }
};

// The above, with one row for each function of REDUCE.
std::vector<RandomOperator> RandomOperators();

}  // namespace dmlop
