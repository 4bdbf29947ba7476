#include "tests/support/random_calls.h"

#include <algorithm>
#include <numeric>

#include "tests/support/float_families.h"
#include "tests/support/random_tensor.h"
#include "tests/support/reduce_functions.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxElements = 2000;

// What the newest row of the operator's table allows.
template <typename Desc>
const SupportRow& RowOf(const Desc& desc) {
  return SupportFor(desc)->rows.back();
}

DataType RandomType(Engine& engine, DataTypeSet set) {
  return OneOf(engine, TypesOf(set));
}

size_t RandomRank(Engine& engine, const SupportRow& row) {
  return static_cast<size_t>(
      UniformInt(engine, static_cast<int>(row.min_rank), static_cast<int>(row.max_rank)));
}

size_t RandomAxis(Engine& engine, size_t rank) {
  return static_cast<size_t>(UniformInt(engine, 0, static_cast<int>(rank) - 1));
}

// --- IDENTITY ------------------------------------------------------------------------------------

float RandomFactor(Engine& engine) {
  const float plain[] = {1.0f, -1.0f, 0.0f, -0.0f, 0.5f, 3.0f};
  if (OneIn(engine, 3)) return OneOf(engine, plain);
  return static_cast<float>(Draw<float>(OneOf(engine, kFamilies), engine));
}

OperatorCall IdentityWith(Engine& engine, const std::optional<ScaleBias>& scale_bias,
                          DataTypeSet types) {
  IdentityDesc desc;
  desc.scale_bias = scale_bias;
  const DataType type = RandomType(engine, types);
  const Dims sizes = RandomSizes(engine, RandomRank(engine, RowOf(desc)), kMaxElements);
  TestTensor input = RandomInput(engine, type, sizes);
  return MakeCall(desc, {std::move(input)}, {RandomOutput(engine, type, sizes)});
}

// --- JOIN and SPLIT ------------------------------------------------------------------------------

// Parts that differ along one axis only, and the whole of them.
struct Parts {
  uint32_t axis;
  std::vector<Dims> sizes;
  Dims whole;
};

Parts RandomParts(Engine& engine, size_t rank) {
  const int count = OneIn(engine, 8) ? 1 : UniformInt(engine, 2, 5);
  Parts parts;
  parts.axis = static_cast<uint32_t>(RandomAxis(engine, rank));
  parts.whole = RandomSizes(engine, rank, kMaxElements / count);
  const int longest = OneIn(engine, 6) ? 70 : 3;
  Dims part = parts.whole;
  parts.whole[parts.axis] = 0;
  for (int i = 0; i < count; ++i) {
    part[parts.axis] = UniformInt(engine, 1, longest);
    parts.whole[parts.axis] += part[parts.axis];
    parts.sizes.push_back(part);
  }
  return parts;
}

// --- UNFOLD --------------------------------------------------------------------------------------

std::vector<uint32_t> RandomNumbers(Engine& engine, size_t count, int low, int high) {
  std::vector<uint32_t> numbers(count);
  for (uint32_t& number : numbers) number = static_cast<uint32_t>(UniformInt(engine, low, high));
  return numbers;
}

UnfoldDesc RandomWindows(Engine& engine, size_t count) {
  UnfoldDesc desc;
  desc.window_sizes = RandomNumbers(engine, count, 1, count > 3 ? 2 : 4);
  desc.strides = RandomNumbers(engine, count, 1, 3);
  desc.dilations = RandomNumbers(engine, count, 1, 3);
  const int padding = OneIn(engine, 3) ? 0 : OneIn(engine, 4) ? 12 : 3;
  desc.start_padding = RandomNumbers(engine, count, 0, padding);
  desc.end_padding = RandomNumbers(engine, count, 0, padding);
  return desc;
}

bool IsSmall(const TensorDesc& desc) {
  if (!desc.sizes) return false;  // no window fits
  return std::accumulate(desc.sizes->begin(), desc.sizes->end(), 1.0, std::multiplies<>()) <=
         2.0 * kMaxElements;
}

// --- REDUCE --------------------------------------------------------------------------------------

std::vector<uint32_t> RandomAxes(Engine& engine, size_t rank) {
  std::vector<uint32_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0u);
  std::shuffle(axes.begin(), axes.end(), engine);
  axes.resize(static_cast<size_t>(UniformInt(engine, 0, static_cast<int>(rank))));
  return axes;
}

}  // namespace

std::vector<DataType> TypesOf(DataTypeSet set) {
  std::vector<DataType> types;
  for (size_t i = 0; i < DataTypeNames().size(); ++i) {
    if (set.Contains(static_cast<DataType>(i))) types.push_back(static_cast<DataType>(i));
  }
  return types;
}

OperatorCall RandomIdentity(Engine& engine) {
  return IdentityWith(engine, std::nullopt, RowOf(IdentityDesc()).input);
}

OperatorCall RandomScaleBias(Engine& engine) {
  const ScaleBias factors{RandomFactor(engine), RandomFactor(engine)};
  return IdentityWith(engine, factors, types::kUpTo32);  // ID-6
}

OperatorCall RandomJoin(Engine& engine) {
  JoinDesc desc;
  const DataType type = RandomType(engine, RowOf(desc).input);
  const Parts parts = RandomParts(engine, RandomRank(engine, RowOf(desc)));
  desc.axis = parts.axis;
  desc.input_tensors.emplace(parts.sizes.size());
  std::vector<TestTensor> inputs;
  for (const Dims& sizes : parts.sizes) inputs.push_back(RandomInput(engine, type, sizes));
  return MakeCall(desc, std::move(inputs), {RandomOutput(engine, type, parts.whole)});
}

OperatorCall RandomSplit(Engine& engine) {
  SplitDesc desc;
  const DataType type = RandomType(engine, RowOf(desc).input);
  const Parts parts = RandomParts(engine, RandomRank(engine, RowOf(desc)));
  desc.axis = parts.axis;
  desc.output_tensors.emplace(parts.sizes.size());
  std::vector<TestTensor> outputs;
  for (const Dims& sizes : parts.sizes) outputs.push_back(RandomOutput(engine, type, sizes));
  return MakeCall(desc, {RandomInput(engine, type, parts.whole)}, std::move(outputs));
}

OperatorCall RandomReduce(Engine& engine, ReduceFunction function) {
  ReduceDesc desc;
  desc.function = function;
  const SupportRow& row = RowOf(desc);
  const DataType type = RandomType(engine, row.input);
  const DataType output_type = row.output.empty() ? type : RandomType(engine, row.output);
  const Dims sizes = RandomSizes(engine, RandomRank(engine, row), kMaxElements);
  desc.axes = RandomAxes(engine, sizes.size());
  Dims output_sizes = sizes;
  for (const uint32_t axis : *desc.axes) output_sizes[axis] = 1;
  TestTensor input = RandomInput(engine, type, sizes);
  return MakeCall(desc, {std::move(input)}, {RandomOutput(engine, output_type, output_sizes)});
}

OperatorCall RandomUnfold(Engine& engine) {
  UnfoldDesc desc;
  const SupportRow& row = RowOf(desc);
  const DataType type = RandomType(engine, row.input);
  Dims sizes;
  do {
    sizes = RandomSizes(engine, RandomRank(engine, row), kMaxElements / 4);
    desc = RandomWindows(engine, sizes.size() - 2);
    desc.input_tensor.data_type = type;
    desc.input_tensor.sizes = SizesOf(sizes);
    Complete(desc);
  } while (!IsSmall(desc.output_tensor));

  Dims output_sizes;
  if (OneIn(engine, 2)) output_sizes = Dims::Filled(sizes.size() - 3, 1);
  for (const uint32_t size : *desc.output_tensor.sizes) output_sizes.push_back(size);
  TestTensor input = RandomInput(engine, type, sizes);
  return MakeCall(desc, {std::move(input)}, {RandomOutput(engine, type, output_sizes)});
}

std::vector<RandomOperator> RandomOperators() {
  std::vector<RandomOperator> operators = {{"IDENTITY", RandomIdentity},
                                           {"IDENTITY_WithScaleBias", RandomScaleBias},
                                           {"JOIN", RandomJoin},
                                           {"SPLIT", RandomSplit},
                                           {"UNFOLD", RandomUnfold}};
  for (const ReduceFunction function : AllReduceFunctions()) {
    operators.push_back({"REDUCE_" + std::string(Name(function)),
                         [function](Engine& engine) { return RandomReduce(engine, function); }});
  }
  return operators;
}

}  // namespace dmlop
