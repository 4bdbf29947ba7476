// Which elements of an operator's inputs feed which elements of its outputs: the formulas of the
// reference pages, for one element. All descs are valid.
#pragma once

#include <optional>
#include <vector>

#include "core/ops/operator.h"
#include "core/tensor/dims.h"

namespace dmlop {

struct Element {
  size_t tensor;  // its number among those of its role
  Dims index;

  friend bool operator==(const Element&, const Element&) = default;
};

// The elements of one tensor whose indices lie in a box, in row-major order.
struct ElementBox {
  size_t tensor;
  Dims begin;
  Dims sizes;

  int64_t count() const { return Product(sizes); }
  Dims IndexAt(int64_t k) const;
};

// Where an element of UNFOLD's output lies: the tap of a window, and what the tap meets.
struct WindowPlace {
  Dims block;       // the window's place in each spatial dimension, counted in steps
  Dims tap;         // within the window
  int64_t channel;  // of the input
  Dims position;    // spatial dimensions of the input; outside it in the padding
  bool in_padding;
};

// For UNFOLD only.
std::optional<WindowPlace> PlaceInWindow(const OperatorDesc& desc, const Dims& output_index);

// The input elements that feed an output element: none where UNFOLD reads padding.
ElementBox SourcesOf(const OperatorDesc& desc, const Element& output);

// The output elements that an input element reaches: one but for UNFOLD, where windows overlap or
// leave gaps. They come in row-major order.
class Targets {
 public:
  Targets(const OperatorDesc& desc, const Element& input);

  int64_t count() const { return count_; }
  Element At(int64_t k) const;

 private:
  struct Place {  // in one spatial dimension
    int64_t tap, block;
  };
  struct Window {
    std::vector<Place> places;  // the taps rise
    int64_t taps, blocks;
  };

  void FindWindows(const UnfoldDesc& desc, const Dims& index);

  Element first_;  // with one target, the target
  int64_t count_ = 1;
  std::vector<Window> windows_;  // of UNFOLD: each spatial dimension
};

}  // namespace dmlop
