#include "tests/support/random_calls.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/ops/support_check.h"
#include "tests/support/desc.h"
#include "tests/support/float_families.h"
#include "tests/support/random_tensor.h"
#include "tests/support/reduce_functions.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxElements = 2000;
constexpr int64_t kMaxComputed = 500;  // of what takes the oracle longer

// What the newest row of the operator's table allows.
const SupportRow& RowOf(const OperatorDesc& desc) {
  return SupportFor(desc)->rows.back();
}

DataTypeSet InputTypes(const SupportRow& row) {
  return row.TypesOf(TypeVariable::kT);
}
DataTypeSet OutputTypes(const SupportRow& row) {
  return row.TypesOf(TypeVariable::kU);
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
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "ScaleBias", scale_bias);
  const DataType type = RandomType(engine, types);
  const Dims sizes = RandomSizes(engine, RandomRank(engine, RowOf(desc)), kMaxElements);
  TestTensor input = RandomInput(engine, type, sizes);
  return MakeCall(desc, {std::move(input)}, {RandomOutput(engine, type, sizes)});
}

bool HasScaleBias(const OperatorDesc& desc) {
  const auto fields = desc.fields();
  return std::find(fields.begin(), fields.end(), &kScaleBias) != fields.end();
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

OperatorDesc RandomWindows(Engine& engine, size_t count) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "WindowSizes", RandomNumbers(engine, count, 1, count > 3 ? 2 : 4));
  Set(desc, "Strides", RandomNumbers(engine, count, 1, 3));
  Set(desc, "Dilations", RandomNumbers(engine, count, 1, 3));
  const int padding = OneIn(engine, 3) ? 0 : OneIn(engine, 4) ? 12 : 3;
  Set(desc, "StartPadding", RandomNumbers(engine, count, 0, padding));
  Set(desc, "EndPadding", RandomNumbers(engine, count, 0, padding));
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
  return IdentityWith(engine, std::nullopt,
                      InputTypes(RowOf(OperatorNamed("ELEMENT_WISE_IDENTITY"))));
}

OperatorCall RandomScaleBias(Engine& engine) {
  const ScaleBias factors{RandomFactor(engine), RandomFactor(engine)};
  return IdentityWith(engine, factors, types::kUpTo32);  // ID-6
}

OperatorCall RandomJoin(Engine& engine) {
  OperatorDesc desc = OperatorNamed("JOIN");
  const DataType type = RandomType(engine, InputTypes(RowOf(desc)));
  const Parts parts = RandomParts(engine, RandomRank(engine, RowOf(desc)));
  Set(desc, "Axis", parts.axis);
  Set(desc, "InputTensors", std::vector<TensorDesc>(parts.sizes.size()));
  std::vector<TestTensor> inputs;
  for (const Dims& sizes : parts.sizes) inputs.push_back(RandomInput(engine, type, sizes));
  return MakeCall(desc, std::move(inputs), {RandomOutput(engine, type, parts.whole)});
}

OperatorCall RandomSplit(Engine& engine) {
  OperatorDesc desc = OperatorNamed("SPLIT");
  const DataType type = RandomType(engine, InputTypes(RowOf(desc)));
  const Parts parts = RandomParts(engine, RandomRank(engine, RowOf(desc)));
  Set(desc, "Axis", parts.axis);
  Set(desc, "OutputTensors", std::vector<TensorDesc>(parts.sizes.size()));
  std::vector<TestTensor> outputs;
  for (const Dims& sizes : parts.sizes) outputs.push_back(RandomOutput(engine, type, sizes));
  return MakeCall(desc, {RandomInput(engine, type, parts.whole)}, std::move(outputs));
}

OperatorCall RandomReduce(Engine& engine, ReduceFunction function) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  const SupportRow& row = RowOf(desc);
  const DataType type = RandomType(engine, InputTypes(row));
  const DataType output_type =
      OutputTypes(row).empty() ? type : RandomType(engine, OutputTypes(row));
  const Dims sizes = RandomSizes(engine, RandomRank(engine, row), kMaxElements);
  Set(desc, "Axes", RandomAxes(engine, sizes.size()));
  Dims output_sizes = sizes;
  for (const uint32_t axis : Get<std::vector<uint32_t>>(desc, "Axes")) output_sizes[axis] = 1;
  TestTensor input = RandomInput(engine, type, sizes);
  return MakeCall(desc, {std::move(input)}, {RandomOutput(engine, output_type, output_sizes)});
}

OperatorCall RandomUnfold(Engine& engine) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  const SupportRow& row = RowOf(desc);
  const DataType type = RandomType(engine, InputTypes(row));
  Dims sizes;
  do {
    sizes = RandomSizes(engine, RandomRank(engine, row), kMaxElements / 4);
    desc = RandomWindows(engine, sizes.size() - 2);
    TensorDesc input;
    input.data_type = type;
    input.sizes = SizesOf(sizes);
    desc.set(kInputTensor, input);
    Complete(desc);
  } while (!IsSmall(desc[kOutputTensor]));

  Dims output_sizes;
  if (OneIn(engine, 2)) output_sizes = Dims::Filled(sizes.size() - 3, 1);
  for (const uint32_t size : *desc[kOutputTensor].sizes) output_sizes.push_back(size);
  TestTensor input = RandomInput(engine, type, sizes);
  return MakeCall(desc, {std::move(input)}, {RandomOutput(engine, type, output_sizes)});
}

OperatorCall RandomElementWise(Engine& engine, std::string_view name) {
  OperatorDesc desc = OperatorNamed(name);
  const SupportRow& row = RowOf(desc);
  const DataType type = RandomType(engine, InputTypes(row));
  const Dims sizes = RandomSizes(engine, RandomRank(engine, row), kMaxComputed);
  std::vector<TestTensor> inputs;
  for (const TensorSlot& slot : TensorSlots(desc, TensorRole::kInput)) {
    const bool is_like_output = slot.field->type == TypeVariable::kT;
    inputs.push_back(RandomInput(
        engine, is_like_output ? type : RandomType(engine, row.TypesOf(slot.field->type)), sizes));
  }
  for (const Field* field : desc.fields()) {
    if (field->kind == FieldKind::kFloat) Set(desc, field->name, RandomFactor(engine));
  }
  if (HasScaleBias(desc) && BitWidth(type) != 64 && OneIn(engine, 3)) {
    Set(desc, "ScaleBias", std::optional(ScaleBias{RandomFactor(engine), RandomFactor(engine)}));
  }
  return MakeCall(desc, std::move(inputs), {RandomOutput(engine, type, sizes)});
}

OperatorCall RandomSlice(Engine& engine) {
  OperatorDesc desc = OperatorNamed("SLICE1");
  const DataType type = RandomType(engine, InputTypes(RowOf(desc)));
  const Dims sizes = RandomSizes(engine, RandomRank(engine, RowOf(desc)), kMaxElements);
  std::vector<uint32_t> offsets, windows;
  std::vector<int32_t> strides;
  Dims output_sizes;
  for (const int64_t size : sizes) {
    const int window = UniformInt(engine, 1, static_cast<int>(size));
    const int step = UniformInt(engine, 1, 4);
    windows.push_back(static_cast<uint32_t>(window));
    offsets.push_back(
        static_cast<uint32_t>(UniformInt(engine, 0, static_cast<int>(size) - window)));
    strides.push_back(OneIn(engine, 2) ? -step : step);
    const int most = (window - 1) / step + 1;
    output_sizes.push_back(OneIn(engine, 5) ? UniformInt(engine, 1, most) : most);
  }
  Set(desc, "InputWindowOffsets", offsets);
  Set(desc, "InputWindowSizes", windows);
  Set(desc, "InputWindowStrides", strides);
  TestTensor input = RandomInput(engine, type, sizes);
  return MakeCall(desc, {std::move(input)}, {RandomOutput(engine, type, output_sizes)});
}

OperatorCall RandomFill(Engine& engine) {
  OperatorDesc desc = OperatorNamed("FILL_VALUE_CONSTANT");
  Scalar value{RandomType(engine, InputTypes(RowOf(desc))), {}};
  const uint64_t bits = engine();
  std::memcpy(value.bytes.data(), &bits, ByteWidth(value.type));
  Set(desc, "Value", value);
  const Dims sizes = RandomSizes(engine, RandomRank(engine, RowOf(desc)), kMaxElements);
  return MakeCall(desc, {}, {RandomOutput(engine, value.type, sizes)});
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
  for (const OperatorInfo* info : Operators()) {
    if (!std::holds_alternative<ElementWise>(info->family)) continue;
    const std::string name(info->name);
    operators.push_back({name, [name](Engine& engine) { return RandomElementWise(engine, name); }});
  }
  operators.push_back({"SLICE1", RandomSlice});
  operators.push_back({"FILL_VALUE_CONSTANT", RandomFill});
  return operators;
}

}  // namespace dmlop
