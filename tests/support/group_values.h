// Groups of numbers for REDUCE, each family hard for one function or another.
#pragma once

#include <string>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

struct GroupFamily {
  std::string name;
  // `count` numbers that the type has; at least one.
  std::vector<double> (*draw)(Engine& engine, size_t count);
};

// T is float or Half.
template <typename T>
std::vector<GroupFamily> GroupFamilies();

// The sizes of the output.
Dims ReducedSizes(Dims sizes, const std::vector<uint32_t>& axes);

// Draws each group that is reduced to one element. The tensor is of the family's type.
void FillGroups(Engine& engine, const GroupFamily& family, const std::vector<uint32_t>& axes,
                TestTensor& tensor);

}  // namespace dmlop
