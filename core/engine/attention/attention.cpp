// SPDX-License-Identifier: Apache-2.0
#include "core/engine/attention/attention.h"

#include <algorithm>
#include <limits>

#include "core/base/parallel.h"
#include "core/engine/element_wise/loop.h"
#include "core/exact/rounding.h"
#include "core/kernels/attention/attention.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// A group has at most kQueries queries, fewer where kScores scores would not hold all its keys.
constexpr int64_t kQueries = 64;
constexpr int64_t kScores = 1 << 22;

// A matrix of FLOAT64; what no Fill writes is 0.
class Panel {
 public:
  Panel(int64_t rows, int64_t columns)
      : columns_(columns), buffer_(static_cast<size_t>(rows * columns) * sizeof(double)) {}

  double* data() { return reinterpret_cast<double*>(buffer_.data()); }
  double* row(int64_t i) { return data() + i * columns_; }

  // Copies the elements of a view of rank 2.
  void Fill(const ConstTensorView& from) { FillBy(from, {columns_, 1}); }
  // Copies the transposed view: its columns become rows.
  void FillTransposed(const ConstTensorView& from) { FillBy(from, {1, columns_}); }

 private:
  void FillBy(const ConstTensorView& from, const Dims& strides) {
    const TensorView to{buffer_.data(), DataType::kFloat64, {from.layout.sizes, strides}};
    ComputeElements({}, {&from, 1}, to);
  }

  int64_t columns_;
  Buffer buffer_;
};

// One head of one batch as a matrix {rows, components}.
ConstTensorView HeadOf(const ConstTensorView& tensor, int64_t batch, int64_t head) {
  ConstTensorView view = tensor.Slice(0, batch, 1).Slice(1, head, 1);
  const Dims& sizes = tensor.layout.sizes;
  const Dims& strides = tensor.layout.strides;
  view.layout = {{sizes[2], sizes[3]}, {strides[2], strides[3]}};
  return view;
}

// Consecutive queries of one head of one batch.
struct Group {
  int64_t batch, head, first, count;
};

class Attending {
 public:
  Attending(const Attention& attention, const TensorView& output)
      : attention_(attention),
        output_(output),
        kernels_(AttentionKernelsFor()),
        keys_(attention.key.layout.sizes[2]),
        group_(std::clamp(kScores / keys_ / kAttentionStep * kAttentionStep, kAttentionStep,
                          kQueries)) {}

  void Run() const {
    const Dims& sizes = output_.layout.sizes;
    const int64_t groups = CeilDiv(sizes[2], group_);
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % groups * group_;
        const int64_t head = i / groups;
        Attend({head / sizes[1], head % sizes[1], first, std::min(group_, sizes[2] - first)});
      }
    };
    ParallelFor(sizes[0] * sizes[1] * groups, 1, /*bytes=*/0, run);
  }

 private:
  void Attend(const Group& group) const {
    const int64_t count = RoundUp(group.count, kAttentionStep);
    Panel scores(keys_, count);
    Score(group, scores);
    Adjust(group, scores);
    Panel maxima(1, count);
    Panel sums(1, count);
    kernels_.find_maxima(scores.data(), keys_, count, maxima.data());
    kernels_.weigh(scores.data(), keys_, count, maxima.data(), sums.data());
    const int64_t size = RoundUp(attention_.value.layout.sizes[3], kAttentionStep);
    Panel results(count, size);
    AddValues(group, scores, count, results);
    Write(group, sums, results);
  }

  int64_t KeyHead(int64_t head) const {
    return head / (attention_.query.layout.sizes[1] / attention_.key.layout.sizes[1]);
  }

  // Calls visit(first, count) for each block of keys.
  template <typename Visit>
  void ForBlocks(Visit&& visit) const {
    for (int64_t first = 0; first < keys_; first += kAttentionKeys) {
      visit(first, std::min(kAttentionKeys, keys_ - first));
    }
  }

  void Score(const Group& group, Panel& scores) const {
    const int64_t count = RoundUp(group.count, kAttentionStep);
    const int64_t size = attention_.query.layout.sizes[3];
    Panel queries(size, count);
    queries.FillTransposed(
        HeadOf(attention_.query, group.batch, group.head).Slice(0, group.first, group.count));
    Panel keys(std::min(kAttentionKeys, keys_), size);
    const ConstTensorView all = HeadOf(attention_.key, group.batch, KeyHead(group.head));
    ForBlocks([&](int64_t first, int64_t rows) {
      keys.Fill(all.Slice(0, first, rows));
      kernels_.score(queries.data(), count, keys.data(), rows, size, attention_.scale,
                     scores.row(first));
    });
  }

  // --- bias, mask and causal limit ---------------------------------------------------------------

  void Adjust(const Group& group, Panel& scores) const {
    if (attention_.position_bias.data != nullptr) AddBias(group, scores);
    if (attention_.mask.data != nullptr) AddMask(group, scores);
    if (!attention_.kept.empty()) AddRange(group, scores);
    if (!attention_.past.empty()) CutFuture(group, scores);
  }

  // Calls visit(score, element) for each element of a tensor {B, N, s, T}.
  template <typename T, typename Visit>
  void ForElements(const Group& group, const ConstTensorView& tensor, Panel& scores,
                   Visit&& visit) const {
    const ConstTensorView head = HeadOf(tensor, group.batch, group.head);
    const Dims& strides = head.layout.strides;
    for (int64_t key = 0; key < keys_; ++key) {
      double* const row = scores.row(key);
      for (int64_t i = 0; i < group.count; ++i) {
        visit(row[i], head.elements<T>()[(group.first + i) * strides[0] + key * strides[1]]);
      }
    }
  }

  void AddBias(const Group& group, Panel& scores) const {
    VisitDataType(Floats(), output_.type, [&]<typename T>() {
      ForElements<T>(group, attention_.position_bias, scores,
                     [](double& score, T bias) { score += AsDouble(bias); });
    });
  }

  void AddMask(const Group& group, Panel& scores) const {
    ForElements<int32_t>(group, attention_.mask, scores, [&](double& score, int32_t keeps) {
      if (keeps == 0) score += attention_.mask_value;
    });
  }

  void AddRange(const Group& group, Panel& scores) const {
    const Range& kept = attention_.kept[static_cast<size_t>(group.batch)];
    for (int64_t key = 0; key < keys_; ++key) {
      if (kept.begin <= key && key < kept.end) continue;
      double* const row = scores.row(key);
      for (int64_t i = 0; i < group.count; ++i) row[i] += attention_.mask_value;
    }
  }

  void CutFuture(const Group& group, Panel& scores) const {
    const int64_t past = attention_.past[static_cast<size_t>(group.batch)];
    for (int64_t i = 0; i < group.count; ++i) {
      for (int64_t key = past + group.first + i + 1; key < keys_; ++key) {
        scores.row(key)[i] = -std::numeric_limits<double>::infinity();
      }
    }
  }

  // --- means -------------------------------------------------------------------------------------

  void AddValues(const Group& group, Panel& weights, int64_t count, Panel& results) const {
    const int64_t size = RoundUp(attention_.value.layout.sizes[3], kAttentionStep);
    Panel values(std::min(kAttentionKeys, keys_), size);
    const ConstTensorView all = HeadOf(attention_.value, group.batch, KeyHead(group.head));
    ForBlocks([&](int64_t first, int64_t rows) {
      values.Fill(all.Slice(0, first, rows));
      kernels_.add_values(weights.row(first), count, values.data(), rows, size, results.data());
    });
  }

  void Write(const Group& group, Panel& sums, Panel& results) const {
    const TensorView head = output_.Slice(0, group.batch, 1).Slice(1, group.head, 1);
    const Dims& strides = head.layout.strides;
    VisitDataType(Floats(), output_.type, [&]<typename T>() {
      for (int64_t i = 0; i < group.count; ++i) {
        T* const to = head.elements<T>() + (group.first + i) * strides[2];
        const double* const row = results.row(i);
        for (int64_t k = 0; k < head.layout.sizes[3]; ++k) {
          to[k * strides[3]] = RoundOnce<T>(row[k] / sums.data()[i]);
        }
      }
    });
  }

  const Attention& attention_;
  const TensorView& output_;
  AttentionKernels kernels_;
  int64_t keys_;
  int64_t group_;
};

}  // namespace

void Attend(const Attention& attention, const TensorView& output) {
  Attending(attention, output).Run();
}

}  // namespace dmlop
