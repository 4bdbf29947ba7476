// SPDX-License-Identifier: Apache-2.0
// Computes an operator in pieces, so that outputs can be written while they are computed. Pieces
// are contiguous in the outputs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/limits.h"
#include "core/ops/family.h"
#include "core/ops/operator.h"

namespace dmlop {

// --- parts of a packed tensor --------------------------------------------------------------------

// Divides a packed tensor into contiguous parts: one dimension is cut into ranges, and those before
// it into single indices.
class PartGrid {
 public:
  // A part has at most `max_elements`, but at least one.
  PartGrid(const Dims& sizes, int64_t max_elements);

  int64_t count() const { return Product(grid_); }
  Region PartAt(int64_t number) const;

  // The number of elements of the largest part.
  int64_t elements() const { return PartAt(0).count(); }

 private:
  Dims sizes_;
  size_t dim_;     // the dimension cut into ranges
  int64_t range_;  // length of a range
  Dims grid_;      // number of parts along each dimension up to that one
};

// --- pieces --------------------------------------------------------------------------------------

class Pieces {
 public:
  // Takes a valid descriptor with packed outputs, and the inputs that Run takes. A piece has at
  // most `max_bytes`, but at least one element.
  Pieces(const OperatorDesc& op, InputViews inputs, int64_t max_bytes);

  int64_t count() const { return outputs_.back().before + outputs_.back().grid.count(); }

  // The size of the buffer that Run needs.
  size_t buffer_size() const { return buffer_size_; }

  // A part of a packed output.
  struct Part {
    size_t output;
    int64_t begin;  // in bytes
    std::span<const std::byte> bytes;
  };

  // Computes a piece into `buffer`, which is aligned for every type, and returns where it belongs.
  Part Run(int64_t number, std::span<std::byte> buffer) const;

 private:
  struct Output {
    DataType type;
    Dims strides;
    PartGrid grid;
    int64_t before;  // number of pieces in earlier outputs
  };

  const OperatorDesc& op_;
  InputViews inputs_;
  std::vector<Output> outputs_;
  size_t buffer_size_ = 0;
};

// --- packed buffers ------------------------------------------------------------------------------

// Runs operators on buffers as DirectML has them, in which 4-bit elements are packed.

// Like Run, but views of 4-bit elements describe buffers; see core/tensor/nibbles.h. Bytes between
// the elements of an output keep their values.
void RunOnBuffers(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

// --- traffic -------------------------------------------------------------------------------------

// The bytes that an operator must move, no matter how its loops are written.

// Every needed input element is read once, and every output element written once. Elements that
// share a place in memory, as along a stride of 0, count once.
struct Traffic {
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;

  int64_t total_bytes() const { return read_bytes + written_bytes; }
};

// Takes a valid descriptor and views as Run takes them.
Traffic TrafficOf(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

// The minimum number of bytes that the loops of a valid descriptor process: those of the inputs for
// reductions, of the outputs for other operators.
int64_t WorkBytes(const OperatorDesc& op);

// Copy, unless one direction has at least three times the bytes of the other.
Limit LimitOf(const Traffic& traffic);

}  // namespace dmlop
