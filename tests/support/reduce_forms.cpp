// SPDX-License-Identifier: Apache-2.0
#include "tests/support/reduce_forms.h"

#include "tests/support/desc.h"
#include "tests/support/group_values.h"
#include "tests/support/reduce_functions.h"
#include "tests/support/settings.h"

namespace dmlop {

OperatorCall ReduceCall(ReduceFunction function, const std::vector<uint32_t>& axes,
                        const TestTensor& input, DataType index_type) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "Axes", axes);
  const DataType type = GivesIndex(function) ? index_type : input.type();
  const Layout layout = PackedLayout(ReducedSizes(input.layout().sizes, axes));
  return MakeCall(desc, {input}, {TestTensor(type, layout)});
}

TestTensor WithStrides(const Dims& strides, const TestTensor& tensor) {
  TestTensor copy(tensor.type(), {tensor.layout().sizes, strides}, 1);
  CopyElements(tensor, copy);
  return copy;
}

Dims PaddedStrides(const Dims& sizes) {
  Dims padded = sizes;
  for (int64_t& size : padded) size += 3;
  return PackedStrides(padded);
}

Dims StridesOfEveryOther(const Dims& sizes) {
  Dims strides = PackedStrides(sizes);
  for (int64_t& stride : strides) stride *= 2;
  return strides;
}

testing::AssertionResult GivesTheSame(const OperatorCall& first, const TestTensor& input,
                                      StridesFunction output_strides,
                                      std::span<const int> thread_counts) {
  const SettingsGuard guard;
  const TestTensor& expected = first.outputs[0];
  const Dims& sizes = expected.layout().sizes;
  const TestTensor output(expected.type(), {sizes, output_strides(sizes)}, 2);
  OperatorCall call = MakeCall(first.desc, {input}, {output});
  for (const std::string_view isa : SupportedIsas()) {
    SelectIsa(isa);
    for (const int threads : thread_counts) {
      if (!IsInShare()) continue;
      SetThreadCount(threads);
      call.outputs[0] = output;
      call.Run();
      if (HaveSameElements(call.outputs[0], expected) && call.outputs[0].GuardsAreIntact())
        continue;
      return testing::AssertionFailure()
             << ToString(call) << ": other bits with " << isa << " and " << threads << " threads";
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace dmlop
