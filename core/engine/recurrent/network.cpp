// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recurrent/network.h"

namespace dmlop {
namespace {

template <typename T>
class Sequence {
 public:
  Sequence(const SequenceViews& views, int64_t units, Cell<T>& cell)
      : views_(views),
        steps_(views.input.layout.sizes[0]),
        items_(views.input.layout.sizes[1]),
        inputs_(views.input.layout.sizes[2]),
        units_(units),
        cell_(cell),
        hidden_(Initial(views.hidden)),
        memory_(Initial(views.memory)),
        input_(static_cast<size_t>(items_ * inputs_)) {}

  void Run() {
    for (int64_t step = 0; step < steps_; ++step) RunStep(step);
    ClearUnused();
    StoreLast(hidden_, views_.last_hidden);
    StoreLast(memory_, views_.last_memory);
  }

 private:
  std::vector<T> Initial(const ConstTensorView& view) const {
    std::vector<T> state(static_cast<size_t>(items_ * units_));
    for (int64_t item = 0; item < items_ && view.data != nullptr; ++item) {
      Gather(view, {item}, state.data() + item * units_);
    }
    return state;
  }

  // Copy between packed memory and a row of a tensor; `index` omits the last dimension.
  static void Gather(const ConstTensorView& view, const Dims& index, T* to) {
    const T* from = RowOf<const T>(view, index);
    const int64_t count = view.layout.sizes.back();
    const int64_t stride = view.layout.strides.back();
    if (stride == 1) {
      std::copy_n(from, count, to);
      return;
    }
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
  static void Scatter(const T* from, const TensorView& view, const Dims& index) {
    T* to = RowOf<T>(view, index);
    const int64_t count = view.layout.sizes.back();
    const int64_t stride = view.layout.strides.back();
    if (stride == 1) {
      std::copy_n(from, count, to);
      return;
    }
    for (int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
  }
  static void Clear(const TensorView& view, const Dims& index) {
    const std::vector<T> zeros(static_cast<size_t>(view.layout.sizes.back()));
    Scatter(zeros.data(), view, index);
  }
  template <typename Element, typename View>
  static Element* RowOf(const View& view, const Dims& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.layout.strides[d];
    return view.template elements<T>() + offset;
  }

  int64_t LengthOf(int64_t item) const { return views_.lengths[static_cast<size_t>(item)]; }
  int64_t TimeOf(int64_t item, int64_t step) const {
    return views_.backward ? LengthOf(item) - 1 - step : step;
  }

  void RunStep(int64_t step) {
    std::vector<int64_t> active;
    for (int64_t item = 0; item < items_; ++item) {
      if (step < LengthOf(item)) active.push_back(item);
    }
    if (active.empty()) return;
    if (std::ssize(active) == items_) {
      StepActive(step, active, hidden_.data(), memory_.data());
    } else {
      StepSome(step, active);
    }
  }

  void StepActive(int64_t step, const std::vector<int64_t>& active, T* hidden, T* memory) {
    const auto store_hidden = [&](Range range) {
      for (int64_t i = range.begin; i < range.end && views_.sequence.data != nullptr; ++i) {
        const int64_t item = active[static_cast<size_t>(i)];
        Scatter(hidden + i * units_, views_.sequence, {TimeOf(item, step), item});
      }
    };
    cell_.Step({std::ssize(active), InputOf(step, active), hidden, memory, store_hidden});
  }

  // Rows that are equally far apart are read in place.
  MatrixView InputOf(int64_t step, const std::vector<int64_t>& active) {
    const Dims& strides = views_.input.layout.strides;
    const auto row = [&](size_t i) {
      return views_.input.elements<T>() + TimeOf(active[i], step) * strides[0] +
             active[i] * strides[1];
    };
    const int64_t count = std::ssize(active);
    const int64_t apart = count > 1 ? row(1) - row(0) : 0;
    bool are_apart = true;
    for (size_t i = 1; i < active.size(); ++i) are_apart &= row(i) - row(i - 1) == apart;
    if (are_apart) {
      return {reinterpret_cast<const std::byte*>(row(0)),
              kDataTypeOf<T>,
              {{count}, {apart}},
              {{inputs_}, {strides[2]}}};
    }
    for (size_t i = 0; i < active.size(); ++i) {
      Gather(views_.input, {TimeOf(active[i], step), active[i]},
             input_.data() + static_cast<int64_t>(i) * inputs_);
    }
    return RowsOf(input_.data(), count, inputs_);
  }

  void StepSome(int64_t step, const std::vector<int64_t>& active) {
    const int64_t count = std::ssize(active);
    std::vector<T> hidden(static_cast<size_t>(count * units_));
    std::vector<T> memory = hidden;
    const auto for_each = [&](auto&& body) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t item = active[static_cast<size_t>(i)] * units_;
        body(hidden.data() + i * units_, hidden_.data() + item);
        body(memory.data() + i * units_, memory_.data() + item);
      }
    };
    for_each([&](T* packed, const T* state) { std::copy_n(state, units_, packed); });
    StepActive(step, active, hidden.data(), memory.data());
    for_each([&](const T* packed, T* state) { std::copy_n(packed, units_, state); });
  }

  // Elements beyond the end of a sequence are 0.
  void ClearUnused() const {
    if (views_.sequence.data == nullptr) return;
    for (int64_t item = 0; item < items_; ++item) {
      for (int64_t t = LengthOf(item); t < steps_; ++t) Clear(views_.sequence, {t, item});
    }
  }

  // An item without steps has last states of 0, whatever its initial states are.
  void StoreLast(const std::vector<T>& state, const TensorView& view) const {
    if (view.data == nullptr) return;
    for (int64_t item = 0; item < items_; ++item) {
      if (LengthOf(item) == 0) {
        Clear(view, {item});
      } else {
        Scatter(state.data() + item * units_, view, {item});
      }
    }
  }

  const SequenceViews& views_;
  int64_t steps_, items_, inputs_, units_;
  Cell<T>& cell_;
  std::vector<T> hidden_, memory_;  // {B, H}
  std::vector<T> input_;            // those of a step, packed
};

}  // namespace

template <typename T>
void RunSequence(const SequenceViews& views, int64_t units, Cell<T>& cell) {
  Sequence<T>(views, units, cell).Run();
}

template void RunSequence(const SequenceViews&, int64_t, Cell<float>&);
template void RunSequence(const SequenceViews&, int64_t, Cell<Half>&);

// --- gates ---------------------------------------------------------------------------------------

MatrixAddend BiasOf(const CellParameters& parameters, int64_t items, int64_t units,
                    const BiasPart& part) {
  static constexpr float kZero = 0;
  const int64_t count = part.gates * units;
  const Layout rows{{items}, {0}};
  if (parameters.bias.data == nullptr) {
    const auto* zero = reinterpret_cast<const std::byte*>(&kZero);
    return {{zero, DataType::kFloat32, rows, {{count}, {0}}}, 1};
  }
  const int64_t half = parameters.bias.layout.sizes[0] / 2;
  const ConstTensorView bias =
      parameters.bias.Slice(0, part.rest * half + part.first_gate * units, count);
  return {{bias.data, bias.type, rows, bias.layout}, 1};
}

std::vector<MatrixAddend> BiasesOf(const CellParameters& parameters, int64_t items, int64_t units,
                                   int64_t first_gate, int64_t gates) {
  std::vector<MatrixAddend> addends = {BiasOf(parameters, items, units, {0, first_gate, gates})};
  if (parameters.bias.data != nullptr) {
    addends.push_back(BiasOf(parameters, items, units, {1, first_gate, gates}));
  }
  return addends;
}

MatrixAddend ProductsOf(const std::vector<double>& products, int64_t units) {
  const int64_t items = static_cast<int64_t>(products.size()) / units;
  return {{reinterpret_cast<const std::byte*>(products.data()),
           DataType::kFloat64,
           {{items}, {units}},
           {{units}, {1}}},
          1};
}

// --- products ------------------------------------------------------------------------------------

GateProduct::GateProduct(std::span<const ConstTensorView> weights) {
  std::vector<MatrixView> parts;
  for (const ConstTensorView& view : weights) parts.push_back(MatrixView::Of(view, 0, 1));
  columns_ = std::make_unique<ViewLines>(parts);
  packed_ = std::make_unique<PackedLines>(*columns_, IndexRange{0, columns_->count()},
                                          PanelSide::kColumns);
}

void GateProduct::Run(std::span<const MatrixView> inputs, const std::vector<MatrixAddend>& addends,
                      GateValues& results) const {
  const ViewLines rows(inputs);
  MultiplyMatrices(rows, *columns_, *packed_, MatrixTerms{1, addends}, results.Matrix());
}

}  // namespace dmlop
