// SPDX-License-Identifier: Apache-2.0
// Sorts wrong elements by how their values came to be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/compare/wrong_elements.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Some of the wrong elements. An element may be in several classes.
struct ValueClass {
  std::string id;    // stable: "nan-for-number", "zero", "constant-difference", ...
  std::string text;  // "44 are 0"
  int64_t count;
};

// Returns the classes that have elements, in the order of the list in dmlop-compare(1). The views
// are those of a comparison: of equal sizes, and of equal types or two floats. Takes time linear in
// the number of elements.
std::vector<ValueClass> ClassesOf(const ConstTensorView& actual, const ConstTensorView& expected,
                                  const WrongElements& wrong);

}  // namespace dmlop
