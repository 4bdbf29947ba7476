// The work of an operator in pieces, for outputs that are written as they come. A piece is the same
// operator on parts of its tensors. What it writes lies without gaps in each packed output.
#pragma once

#include <span>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

class Pieces {
 public:
  // Of a valid desc, with the inputs that Run takes and the sizes of its outputs. A piece writes at
  // most `max_bytes`, but at least one element.
  Pieces(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const Dims> output_sizes, DataType output_type, int64_t max_bytes);

  int64_t count() const { return leading_count_ * cuts_; }

  // How long a buffer Run needs.
  size_t buffer_size() const;

  // A part of a packed output.
  struct Part {
    size_t output;
    int64_t begin;  // in bytes
    std::span<const std::byte> bytes;
  };

  // Computes a piece into `buffer`, aligned for every type, and says what belongs where.
  std::vector<Part> Run(int64_t number, std::span<std::byte> buffer) const;

 private:
  // A range along every dimension.
  struct Box {
    Dims begin;
    Dims sizes;
  };
  class Parts;

  Box BoxOf(int64_t number) const;
  void RunBox(const IdentityDesc& desc, const Box& box, Parts& parts) const;
  void RunBox(const JoinDesc& desc, const Box& box, Parts& parts) const;
  void RunBox(const SplitDesc& desc, const Box& box, Parts& parts) const;
  void RunBox(const ReduceDesc& desc, const Box& box, Parts& parts) const;
  void RunBox(const UnfoldDesc& desc, const Box& box, Parts& parts) const;

  const OperatorDesc& desc_;
  std::span<const ConstTensorView> inputs_;
  std::span<const Dims> output_sizes_;
  DataType type_;
  int64_t width_;       // bytes of an element of the outputs
  Dims space_;          // what is cut: the dimensions of all outputs together
  size_t cut_dim_ = 0;  // cut into ranges; those before it into single indices
  int64_t cut_size_ = 1;
  int64_t cuts_ = 1;
  int64_t leading_count_ = 1;
};

}  // namespace dmlop
