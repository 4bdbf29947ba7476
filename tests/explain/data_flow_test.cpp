// SPDX-License-Identifier: Apache-2.0
// Finds by force which element feeds which: changes one input element, runs the engine, and
// compares.

#include "core/explain/data_flow.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/random.h"
#include "tests/support/random_calls.h"

namespace dmlop {
namespace {

// An operator whose outputs change with every element, as sums of integers do.
struct FlowCase {
  std::string name;
  bool (*shows_changes)(const OperatorDesc& desc);

  OperatorCall draw(Engine& engine) const {
    while (true) {
      OperatorCall call = RandomCall(engine, OperatorNamed(name));
      if (shows_changes(call.desc)) return call;
    }
  }
};

bool Always(const OperatorDesc&) {
  return true;
}

const FlowCase kFlowCases[] = {
    {"ELEMENT_WISE_IDENTITY", [](const OperatorDesc& desc) { return !desc.Has(kScaleBias); }},
    {"JOIN", Always},
    {"SPLIT", Always},
    {"UNFOLD", Always},
    {"REDUCE",
     [](const OperatorDesc& desc) {
       return Get<uint32_t>(desc, "Function") == static_cast<uint32_t>(ReduceFunction::kSum) &&
              !IsFloat(*desc[kInputTensor].data_type);
     }},
    {"FOLD", [](const OperatorDesc& desc) { return !IsFloat(*desc[kInputTensor].data_type); }},
    {"RESAMPLE2",
     [](const OperatorDesc& desc) { return Get<uint32_t>(desc, "InterpolationMode") == 0; }},
    {"SLICE", Always},
    {"SLICE1", Always},
    {"SLICE_GRAD", Always},
    {"PADDING", Always},
    {"PADDING1", Always},
    {"TILE", Always},
    {"DEPTH_TO_SPACE1", Always},
    {"SPACE_TO_DEPTH1", Always},
    {"DIAGONAL_MATRIX1", [](const OperatorDesc& desc) { return desc.Has(*desc.fields()[0]); }},
    {"CUMULATIVE_SUMMATION",
     [](const OperatorDesc& desc) { return !IsFloat(*desc[kInputTensor].data_type); }},
};

constexpr ListLength kAll = {std::numeric_limits<int64_t>::max(), 0};

using ElementSet = std::set<std::pair<size_t, std::vector<int64_t>>>;

void Insert(ElementSet& set, const Element& element) {
  set.insert({element.tensor, {element.index.begin(), element.index.end()}});
}

void FlipLowBit(TestTensor& tensor, int64_t offset) {
  VisitElementWidth(tensor.type(),
                    [&]<typename Bits>() { tensor.mutable_view().elements<Bits>()[offset] ^= 1; });
}

ElementSet Differences(const OperatorCall& a, const OperatorCall& b) {
  ElementSet differences;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const ConstTensorView of_a = a.outputs[i].view();
    const ConstTensorView of_b = b.outputs[i].view();
    reference::ForEachIndex(of_a.layout.sizes, [&](const Dims& index) {
      if (reference::BitsAt(of_a, index) != reference::BitsAt(of_b, index)) {
        Insert(differences, {i, index});
      }
    });
  }
  return differences;
}

// The elements reached, by the geometry, from those at one place, which several may share.
ElementSet Reached(const OperatorCall& call, size_t input, int64_t offset) {
  ElementSet reached;
  const Layout& layout = call.inputs[input].layout();
  reference::ForEachIndex(layout.sizes, [&](const Dims& index) {
    if (OffsetOf(layout, index) != offset) return;
    for (const Element& target : TargetsOf(call.desc, {input, index}, kAll).listed)
      Insert(reached, target);
  });
  return reached;
}

ElementSet FedBy(const OperatorCall& call, size_t input, int64_t offset) {
  ElementSet fed;
  const Layout& layout = call.inputs[input].layout();
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    reference::ForEachIndex(call.outputs[i].layout().sizes, [&](const Dims& index) {
      for (const Region& sources : SourcesOf(call.desc, Element{i, index})) {
        if (sources.tensor != input) continue;
        for (int64_t k = 0; k < sources.count(); ++k) {
          if (OffsetOf(layout, sources.IndexAt(k)) == offset) Insert(fed, {i, index});
        }
      }
    });
  }
  return fed;
}

class DataFlow : public testing::TestWithParam<FlowCase> {};

TEST_P(DataFlow, IsWhatTheEngineDoes) {
  for (int i = 0; i < ShareOf(400); ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    OperatorCall call = GetParam().draw(engine);
    call.Run();
    const size_t input =
        static_cast<size_t>(UniformInt(engine, 0, static_cast<int>(call.inputs.size()) - 1));
    Dims index;
    for (const int64_t size : call.inputs[input].layout().sizes) {
      index.push_back(UniformInt(engine, 0, static_cast<int>(size) - 1));
    }
    const int64_t offset = OffsetOf(call.inputs[input].layout(), index);

    OperatorCall changed = call;
    FlipLowBit(changed.inputs[input], offset);
    changed.Run();
    const ElementSet expected = Differences(call, changed);
    ASSERT_EQ(Reached(call, input, offset), expected) << ToString(call);
    ASSERT_EQ(FedBy(call, input, offset), expected) << ToString(call);
  }
}

TEST_P(DataFlow, ListsTargetsInRowMajorOrder) {
  constexpr int kCases = 50;
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const OperatorCall call = GetParam().draw(engine);
    const Element first{0, Dims::Filled(call.inputs[0].layout().rank(), 0)};
    ElementSet sorted;
    std::vector<ElementSet::value_type> listed;
    for (const Element& target : TargetsOf(call.desc, first, kAll).listed) {
      Insert(sorted, target);
      listed.push_back({target.tensor, {target.index.begin(), target.index.end()}});
    }
    ASSERT_EQ(listed, std::vector<ElementSet::value_type>(sorted.begin(), sorted.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, DataFlow, testing::ValuesIn(kFlowCases), CaseName<FlowCase>);

}  // namespace
}  // namespace dmlop
