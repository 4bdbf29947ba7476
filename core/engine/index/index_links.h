// How a tensor that is walked, element by element, is tied to the data that it is read from or
// written to, and to the indices that say where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dmlop {

struct IndexLinks {
  static constexpr size_t kNone = SIZE_MAX;

  // The dimensions of the data and of the indices that have the coordinate of a walked one.
  struct Dim {
    size_t data = kNone;
    size_t index = kNone;
  };
  std::vector<Dim> dims;  // of the walked tensor

  // The dimensions of the data in which an index chooses the coordinate, one for each of a tuple.
  std::vector<size_t> chosen;
  size_t tuple = kNone;  // the dimension of the indices along which a tuple lies

  // The walked dimension whose coordinate a place depends on.
  size_t position = kNone;
};

}  // namespace dmlop
