// SPDX-License-Identifier: Apache-2.0
// Ties a tensor that is walked, element by element, to the data that it is read from or written to,
// and to the indices that say where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dmlop {

struct IndexLinks {
  static constexpr size_t kNone = SIZE_MAX;

  // The dimensions of the data and of the indices that share the coordinate of a walked dimension.
  struct Dim {
    size_t data = kNone;
    size_t index = kNone;
  };
  std::vector<Dim> dims;  // one for each dimension of the walked tensor

  // The dimensions of the data whose coordinates the indices choose, one for each index of a tuple.
  std::vector<size_t> chosen;
  size_t tuple = kNone;  // the dimension of the indices that holds a tuple

  // The walked dimension whose coordinate a place depends on.
  size_t position = kNone;
};

}  // namespace dmlop
