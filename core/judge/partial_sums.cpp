// SPDX-License-Identifier: Apache-2.0
#include "core/judge/partial_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/judge/sum_orders.h"

namespace dmlop {
namespace {

// A sum of a few terms, such as one so far and the next.
double SumOf(const ArithmeticVariation& sums, std::span<const double> terms) {
  std::vector<SumOrders<1>::Column> columns;
  for (const double term : terms) columns.push_back({term});
  return SumOrders<1>(columns).SumOf(sums)[0];
}

class PartialSums {
 public:
  PartialSums(const ArithmeticVariation& sums, std::span<const double> terms)
      : sums_(sums), in_order_(sums), terms_(terms.begin(), terms.end()) {
    in_order_.order = SumOrder::kInOrder;
    in_order_.adds_blocks_in_float32 = false;
  }

  std::vector<PartialSum> All() {
    switch (sums_.order) {
      case SumOrder::kBlocks:
        AddBlocks();
        break;
      case SumOrder::kLanes:
      case SumOrder::kLanesOfNeighbours:
        AddLanes();
        AddLevels(sums_.order == SumOrder::kLanesOfNeighbours);
        break;
      case SumOrder::kPairwise:
        AddLevels(true);
        break;
      default:
        AddPrefixes();
    }
    return std::move(partial_);
  }

 private:
  void AddPrefixes() {
    double sum = 0;
    for (size_t k = 0; k < terms_.size(); ++k) {
      const double next[] = {sum, terms_[k]};
      sum = SumOf(in_order_, next);
      partial_.push_back({fmt::format("up to term {}", k), sum});
    }
  }

  void AddBlocks() {
    ArithmeticVariation of_blocks = in_order_;
    if (sums_.adds_blocks_in_float32) of_blocks.format = FloatFormat::kFloat32;
    const auto size = static_cast<size_t>(sums_.count);
    double sum = 0;
    for (size_t begin = 0; begin < terms_.size(); begin += size) {
      const size_t count = std::min(size, terms_.size() - begin);
      const double block = SumOf(in_order_, std::span(terms_).subspan(begin, count));
      const double next[] = {sum, block};
      sum = SumOf(of_blocks, next);
      partial_.push_back({fmt::format("terms {}..{}", begin, begin + count - 1), block});
      partial_.push_back({fmt::format("up to term {}", begin + count - 1), sum});
    }
  }

  // Replaces the terms by the sums of the lanes.
  void AddLanes() {
    const auto count = static_cast<size_t>(sums_.count);
    std::vector<double> lanes;
    for (size_t lane = 0; lane < count; ++lane) {
      std::vector<double> own;
      for (size_t k = lane; k < terms_.size(); k += count) own.push_back(terms_[k]);
      lanes.push_back(SumOf(in_order_, own));
      partial_.push_back({fmt::format("lane {}", lane), lanes.back()});
    }
    terms_ = std::move(lanes);
  }

  // Adds neighbours, or the second half to the first one, until one is left.
  void AddLevels(bool are_neighbours) {
    for (int level = 1; terms_.size() > 1; ++level) {
      const size_t pairs = terms_.size() / 2;
      std::vector<double> next;
      for (size_t k = 0; k < pairs; ++k) {
        const double pair[] = {terms_[are_neighbours ? 2 * k : k],
                               terms_[are_neighbours ? 2 * k + 1 : k + pairs]};
        next.push_back(SumOf(sums_.order == SumOrder::kPairwise ? sums_ : in_order_, pair));
        partial_.push_back({fmt::format("level {}, sum {}", level, k), next.back()});
      }
      if (terms_.size() % 2 != 0) next.push_back(terms_.back());
      terms_ = std::move(next);
    }
  }

  const ArithmeticVariation& sums_;
  ArithmeticVariation in_order_;  // of the terms of a block or a lane
  std::vector<double> terms_;
  std::vector<PartialSum> partial_;
};

}  // namespace

std::vector<PartialSum> PartialSumsOf(const ArithmeticVariation& sums,
                                      std::span<const double> terms) {
  return PartialSums(sums, terms).All();
}

}  // namespace dmlop
