// SPDX-License-Identifier: Apache-2.0
// Families of number groups for REDUCE, each of which is hard for some function.
#pragma once

#include <string>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

struct GroupFamily {
  std::string name;
  // Draws `count` numbers of the type, at least one.
  std::vector<double> (*draw)(Engine& engine, size_t count);
};

// T is float or Half.
template <typename T>
std::vector<GroupFamily> GroupFamilies();

// The sizes of the reduced output.
Dims ReducedSizes(Dims sizes, const std::vector<uint32_t>& axes);

// Draws each group that is reduced to one element. The tensor has the family's type.
void FillGroups(Engine& engine, const GroupFamily& family, const std::vector<uint32_t>& axes,
                TestTensor& tensor);

}  // namespace dmlop
