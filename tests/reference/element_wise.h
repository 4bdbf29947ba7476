// SPDX-License-Identifier: Apache-2.0
// The oracle of element-wise functions: one element as the reference page defines it, by exact
// arithmetic and one rounding, in MPFR.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/engine/element_wise/loop.h"

namespace dmlop::reference {

// An element of an input.
struct StoredElement {
  DataType type;
  uint64_t bits;
};

// The bits of the output element.
uint64_t ElementOf(const ElementWiseCall& call, std::span<const StoredElement> inputs,
                   DataType output);

}  // namespace dmlop::reference
