// SPDX-License-Identifier: Apache-2.0
// An operator run on the magnitudes of its inputs and parameters, which gives the sums of the
// magnitudes of their terms where the operator is nothing but sums and products.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

class MagnitudeRun {
 public:
  // Takes an operator without a fused activation and some elements of the output. FLOAT16 becomes
  // FLOAT32, since sums may exceed FLOAT16.
  MagnitudeRun(const OperatorDesc& op, InputViews inputs, size_t output,
               std::span<const Dims> elements);

  // False if no signs of the inputs make all terms of the sums positive.
  bool is_possible() const { return is_possible_; }

  // Whether there are numbers such as Alpha.
  bool has_parameters() const { return !parameters_.empty(); }

  // By row-major number of the element; infinite beyond the type.
  std::vector<double> Sizes() const;
  // The same with every magnitude of an element 1; with `factors`, parameters keep theirs.
  std::vector<double> Ones(bool factors) const;

 private:
  bool HasSigns(std::span<const Dims> elements);
  bool IsOfOneSign(std::span<const Dims> elements) const;
  std::vector<double> Run(const OperatorDesc& op, InputViews inputs) const;

  OperatorDesc op_;
  InputViews inputs_;
  size_t output_;
  std::vector<int> signs_;     // by which the magnitudes of each input's elements are multiplied
  std::vector<bool> is_read_;  // whether elements of the input are in formulas
  std::vector<size_t> parameters_;  // numbers of the fields whose numbers are in formulas
  bool is_possible_ = false;
};

}  // namespace dmlop
