// SPDX-License-Identifier: Apache-2.0
// The loop over views: any strides, in place, any length, threads and instruction sets.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "tests/reference/element.h"
#include "tests/reference/element_wise.h"
#include "tests/support/on_isa.h"
#include "tests/support/random.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

using enum DataType;
using enum ElementWiseFunction;

// Functions whose rows need no conversion, conversions on either side or within, several types,
// ScaleBias, and the exact function of core/exact/.
struct Form {
  ElementWiseCall call;
  std::vector<DataType> inputs;
  DataType output;
};

const Form kForms[] = {
    {{kAdd}, {kFloat32, kFloat32}, kFloat32},
    {{kAdd}, {kUint8, kUint8}, kUint8},
    {{kMultiply}, {kInt8, kInt8}, kInt8},
    {{kMax}, {kFloat16, kFloat16}, kFloat16},
    {{kHardSwish, {{0.25, 0.5}, {}}}, {kFloat32}, kFloat32},
    {{kFloor, {}, ScaleBias{0.1f, 3.0f}}, {kFloat16}, kFloat16},
    {{kAbs, {}, ScaleBias{3.0f, 1.0f}}, {kInt16}, kInt16},
    {{kLessThan}, {kFloat32, kFloat32}, kUint8},
    {{kIf}, {kFloat64, kFloat64, kUint8}, kFloat64},
    {{kIf}, {kFloat16, kFloat16, kUint8}, kFloat16},
    {{kIf}, {kInt32, kInt32, kUint8}, kInt32},
    {{kIf}, {kUint8, kUint8, kUint8}, kUint8},
    {{kDequantize}, {kUint8, kFloat32, kUint8}, kFloat32},
    {{kDequantize}, {kInt8, kFloat16, kInt8}, kFloat16},
    {{kDequantize}, {kUint16, kFloat16, kUint16}, kFloat16},
    {{kDequantize}, {kInt16, kFloat32, kInt16}, kFloat32},
    {{kDequantize}, {kUint32, kFloat16, kUint32}, kFloat16},
    {{kQuantize, {{-128, 127}, {}}}, {kFloat32, kFloat32, kInt8}, kInt8},
    {{kQuantize, {{0, 255}, {}}}, {kFloat16, kFloat16, kUint8}, kUint8},
    {{kQuantize, {{-128, 127}, {}}}, {kInt32, kFloat32, kInt8}, kInt8},
    {{kSoftsign}, {kFloat16}, kFloat16},
    {{kCast}, {kFloat32}, kInt8},
    {{kCast}, {kUint8}, kFloat64},
    {{kCast}, {kInt16}, kUint16},
    {{kCast, {}, ScaleBias{2.0f, 1.0f}}, {kFloat32}, kFloat32},
};

// A view with some dimensions reversed.
template <typename View>
View Reversed(View view, unsigned dimensions) {
  for (size_t d = 0; d < view.layout.rank(); ++d) {
    if ((dimensions >> d & 1) == 0) continue;
    int64_t& stride = view.layout.strides[d];
    view.data += (view.layout.sizes[d] - 1) * stride * static_cast<int64_t>(ByteWidth(view.type));
    stride = -stride;
  }
  return view;
}

void ExpectRight(const Form& form, const std::vector<ConstTensorView>& inputs,
                 const ConstTensorView& output) {
  int wrong = 0;
  reference::ForEachIndex(output.layout.sizes, [&](const Dims& index) {
    std::vector<reference::StoredElement> elements;
    for (const ConstTensorView& input : inputs) {
      elements.push_back({input.type, reference::BitsAt(input, index)});
    }
    const uint64_t expected = reference::ElementOf(form.call, elements, output.type);
    if (reference::BitsAt(output, index) != expected && wrong++ < 3) {
      ADD_FAILURE() << "function " << static_cast<int>(form.call.function) << ", "
                    << Name(form.inputs[0]) << ", " << CurrentIsa() << ": "
                    << reference::BitsAt(output, index) << ", not " << expected;
    }
  });
}

// The same tensors for any number of threads and any instruction set.
class RandomForm {
 public:
  RandomForm(Engine& engine, const Form& form, const Dims& sizes, bool reverses)
      : form_(form), output_(RandomOutput(engine, form.output, sizes)) {
    for (const DataType type : form.inputs) {
      inputs_.push_back(RandomInput(engine, type, sizes));
      reversed_.push_back(reverses ? static_cast<unsigned>(UniformInt(engine, 0, 255)) : 0);
    }
    reversed_.push_back(reverses ? static_cast<unsigned>(UniformInt(engine, 0, 255)) : 0);
  }

  std::vector<ConstTensorView> Inputs() const {
    std::vector<ConstTensorView> views;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      views.push_back(Reversed(inputs_[k].view(), reversed_[k]));
    }
    return views;
  }

  TestTensor Compute() const {
    TestTensor output = output_;
    ComputeElements(form_.call, Inputs(), Reversed(output.mutable_view(), reversed_.back()));
    return output;
  }

  ConstTensorView OutputOf(const TestTensor& output) const {
    return Reversed(output.view(), reversed_.back());
  }

 private:
  const Form& form_;
  std::vector<TestTensor> inputs_;
  TestTensor output_;
  std::vector<unsigned> reversed_;  // reversed dimensions of each input and of the output
};

class ElementWiseLoopOnIsa : public OnIsa {};

TEST_P(ElementWiseLoopOnIsa, EveryLengthIsRight) {
  int number = 0;
  for (const Form& form : kForms) {
    for (int64_t length = 1; length <= 200; ++length) {
      Engine engine = CaseEngine(number++);
      std::vector<TestTensor> tensors;
      std::vector<ConstTensorView> inputs;
      tensors.reserve(form.inputs.size());
      for (const DataType type : form.inputs) {
        tensors.emplace_back(type, PackedLayout({length}), length % 5);
        FillRandomly(engine, tensors.back());
        inputs.push_back(tensors.back().view());
      }
      TestTensor output(form.output, PackedLayout({length}), length % 3);
      ComputeElements(form.call, inputs, output.mutable_view());
      ExpectRight(form, inputs, output.view());
      ASSERT_TRUE(output.GuardsAreIntact()) << length;
    }
  }
}

TEST_P(ElementWiseLoopOnIsa, AnyStridesAreRight) {
  for (int number = 0; number < 400; ++number) {
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number);
    const Form& form = OneOf(engine, kForms);
    const size_t rank = static_cast<size_t>(UniformInt(engine, 1, 5));
    const RandomForm random(engine, form, RandomSizes(engine, rank, 2000), OneIn(engine, 2));
    const TestTensor output = random.Compute();
    ExpectRight(form, random.Inputs(), random.OutputOf(output));
    ASSERT_TRUE(output.GuardsAreIntact());
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ElementWiseLoopOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

struct LargeShape {
  const char* name;
  Dims sizes;
  Dims input_strides;  // of every input
  Dims output_strides;
};

// Shapes with more than one box; the last ones bypass the caches.
const LargeShape kLargeShapes[] = {
    {"packed", {100003}, {1}, {1}},
    {"transposed", {300, 411}, {1, 300}, {411, 1}},
    {"transposed output", {411, 300}, {300, 1}, {1, 411}},
    {"row", {1000, 130}, {0, 1}, {130, 1}},
    {"long row", {40, 3001}, {0, 1}, {3001, 1}},
    {"column", {1000, 130}, {1, 0}, {130, 1}},
    {"long column", {40, 3001}, {1, 0}, {3001, 1}},
    {"scalar", {1000, 130}, {0, 0}, {130, 1}},
    {"gaps", {500, 200}, {205, 1}, {201, 1}},
    {"every other", {130000}, {2}, {3}},
    {"down", {1000, 130}, {-130, -1}, {130, 1}},
    {"channels", {3, 200, 200}, {1, 600, 3}, {40000, 200, 1}},
    {"middle", {37, 41, 61}, {0, 61, 1}, {2501, 61, 1}},
    {"streamed", {9000001}, {1}, {1}},
    {"streamed column", {3000, 3001}, {1, 0}, {3001, 1}},
    {"streamed transposed", {3001, 3000}, {1, 3001}, {3000, 1}},
};

// Offset of the first element if strides may be negative.
int64_t FirstOf(const Layout& layout) {
  int64_t first = 0;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.strides[d] < 0) first -= (layout.sizes[d] - 1) * layout.strides[d];
  }
  return first;
}

// Sums of integers, because they are cheap to check.
TEST(ElementWiseLoop, LargeTensorsAreRightForAnyThreadCount) {
  const SettingsGuard before;
  for (const LargeShape& shape : kLargeShapes) {
    const int64_t count = Product(shape.sizes);
    std::vector<uint8_t> a(static_cast<size_t>(3 * count));
    std::vector<uint8_t> b(static_cast<size_t>(3 * count));
    Engine engine = CaseEngine(static_cast<int>(count));
    for (size_t i = 0; i < a.size(); ++i) {
      const uint64_t bits = engine();
      a[i] = static_cast<uint8_t>(bits);
      b[i] = static_cast<uint8_t>(bits >> 8);
    }
    const Layout strided{shape.sizes, shape.input_strides};
    const Layout packed = PackedLayout(shape.sizes);
    const Layout out{shape.sizes, shape.output_strides};
    const auto view_of = [](const std::vector<uint8_t>& bytes, const Layout& layout) {
      return ConstTensorView{reinterpret_cast<const std::byte*>(bytes.data()) + FirstOf(layout),
                             kUint8, layout};
    };
    const ConstTensorView x = view_of(a, strided);
    const ConstTensorView y = view_of(b, packed);
    for (const int threads : {1, 2, 3, 4}) {
      if (!IsInShare()) continue;
      SetThreadCount(threads);
      std::vector<uint8_t> result(static_cast<size_t>(3 * count), 0xA5);
      ComputeElements({kAdd}, std::vector<ConstTensorView>{x, y},
                      {reinterpret_cast<std::byte*>(result.data()), kUint8, out});
      int64_t wrong = 0;
      reference::ForEachIndex(shape.sizes, [&](const Dims& index) {
        const auto sum =
            static_cast<uint8_t>(reference::BitsAt(x, index) + reference::BitsAt(y, index));
        uint8_t& element = result[static_cast<size_t>(OffsetOf(out, index))];
        wrong += element != sum;
        element = 0xA5;
      });
      EXPECT_EQ(wrong, 0) << shape.name << ", " << threads << " threads";
      EXPECT_EQ(std::count(result.begin(), result.end(), 0xA5), std::ssize(result)) << shape.name;
    }
  }
}

// The output is one or both of the inputs.
TEST(ElementWiseLoop, ComputesInPlace) {
  for (int number = 0; number < 200; ++number) {
    SCOPED_TRACE(CaseTrace(number));
    Engine engine = CaseEngine(number);
    const Dims sizes = RandomSizes(engine, 3, 100000);
    const Layout layout = RandomOutputLayout(engine, sizes);
    const DataType type = OneOf(engine, std::vector{kFloat16, kFloat32, kInt8, kInt64});
    TestTensor a(type, layout);
    FillRandomly(engine, a);
    const TestTensor b = RandomInput(engine, type, sizes);
    const bool twice = OneIn(engine, 3);
    const auto inputs = [&](const TestTensor& first) {
      return std::vector<ConstTensorView>{first.view(), twice ? first.view() : b.view()};
    };
    TestTensor expected(type, layout);
    ComputeElements({kAdd}, inputs(a), expected.mutable_view());
    ComputeElements({kAdd}, inputs(a), a.mutable_view());
    ASSERT_TRUE(HaveSameElements(a, expected));
    ASSERT_TRUE(a.GuardsAreIntact());
  }
}

}  // namespace
}  // namespace dmlop
