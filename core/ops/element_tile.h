// A tile of ReduceLoop that works element by element.
#pragma once

#include <algorithm>
#include <vector>

#include "core/kernels/reduce_functions.h"
#include "core/ops/reduce_loop.h"

namespace dmlop {

// A function of reduce_functions.h.
template <typename Function>
class ElementTile {
 public:
  using Input = typename Function::Input;
  using Output = typename Function::Output;

  static constexpr bool kByVectors = false;
  static constexpr int64_t kColumns = 4;  // mostly one of them is wanted

  explicit ElementTile(int64_t capacity) : states_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) {
    std::fill_n(states_.begin(), count, typename Function::State{});
  }

  void AddRow(int64_t o, const ElementRun<Input>& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      Function::Add(state(o), run.first[i * run.stride]);
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<Input>& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      const Input* x = run.first + i * run.stride;
      for (int64_t o = 0; o < columns.count; ++o) {
        Function::Add(state(o), x[o * columns.stride]);
      }
    }
  }

  void Merge(int64_t o, const ElementTile& other, int64_t p, int64_t) {
    Function::Merge(state(o), other.states_[static_cast<size_t>(p)]);
  }

  bool Finish(int64_t o, int64_t, Output& result) const {
    result = Function::Finish(states_[static_cast<size_t>(o)]);
    return true;
  }

 private:
  typename Function::State& state(int64_t o) { return states_[static_cast<size_t>(o)]; }

  std::vector<typename Function::State> states_;
};

}  // namespace dmlop
