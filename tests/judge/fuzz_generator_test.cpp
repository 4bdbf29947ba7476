// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/generator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/fuzz/entropy.h"
#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"
#include "core/fuzz/setting.h"
#include "core/ops/operator.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

// A case as text: settings, tensors, and the bytes of the inputs.
std::string TextOf(const DrawnCase& one) {
  std::string text;
  for (const std::string& setting : SettingsOf(one.computation.op, one.values)) {
    text += setting + "; ";
  }
  for (const TensorSlot& slot : TensorSlots(one.computation.op)) {
    const Layout layout = LayoutOf(*slot.desc);
    text += slot.path + ToString(layout.sizes) + ToString(layout.strides);
  }
  for (const ConstTensorView& input : one.computation.inputs) {
    const auto bytes = static_cast<size_t>(Extent(input.layout)) * ByteWidth(input.type);
    text.append(reinterpret_cast<const char*>(input.data), bytes);
  }
  return text;
}

OperatorDesc CheckedAt(FeatureLevel level, OperatorDesc op) {
  Diagnostics diagnostics;
  Check(op, level, diagnostics);
  EXPECT_TRUE(diagnostics.list().empty()) << diagnostics.list().front().message;
  return op;
}

void ExpectValid(const DrawnCase& one, FeatureLevel level) {
  const Computation& computation = one.computation;
  CheckedAt(level, computation.op);
  Diagnostics warnings;
  WarnOfValues(computation.op, computation.inputs, warnings);
  EXPECT_TRUE(warnings.list().empty());
  EXPECT_TRUE(IsWithinBounds(computation.op, 4096));
  const auto slots = TensorSlots(computation.op, TensorRole::kInput);
  ASSERT_EQ(computation.inputs.size(), slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(computation.inputs[i].type, *slots[i].desc->data_type);
    EXPECT_EQ(computation.inputs[i].layout, LayoutOf(*slots[i].desc));
    EXPECT_TRUE(one.values.contains(slots[i].path));
  }
}

const OperatorInfo& Named(std::string_view name) {
  return *FindOperator(name);
}

// Some operators, or all of them at full depth.
std::vector<const OperatorInfo*> SomeOperators(int period) {
  std::vector<const OperatorInfo*> some;
  Engine engine = TestEngine();
  for (const OperatorInfo* info : Operators()) {
    if (IsFullDepth() || OneIn(engine, period)) some.push_back(info);
  }
  return some;
}

TEST(RandomEngine, DrawsTheNumbersOfTheLibrary) {
  constexpr int kNumbers = 1000;  // some more than the state has words, three times
  for (const uint64_t seed : {uint64_t{0}, uint64_t{5489}, UINT64_MAX}) {
    RandomEngine engine(seed);
    std::mt19937_64 expected(seed);
    for (int i = 0; i < kNumbers; ++i) EXPECT_EQ(engine(), expected()) << seed << ", " << i;
  }
}

TEST(FuzzGenerator, MakesValidCasesOfEveryOperator) {
  for (const OperatorInfo* info : SomeOperators(8)) {
    SCOPED_TRACE(info->name);
    CaseGenerator generator(*info, {}, TestSeed());
    ASSERT_TRUE(generator.can_draw());
    for (uint64_t i = 0; i < 30; ++i) ExpectValid(generator.Case(i), kHighestFeatureLevel);
  }
}

TEST(FuzzGenerator, DrawsACaseByItsNameAlone) {
  for (const OperatorInfo* info : SomeOperators(30)) {
    SCOPED_TRACE(info->name);
    CaseGenerator in_order(*info, {}, 7);
    CaseGenerator in_another(*info, {}, 7);
    CaseGenerator of_another_seed(*info, {}, 8);
    const std::string far = TextOf(in_another.Case(2345));
    for (uint64_t i = 0; i < 20; ++i) {
      const std::string text = TextOf(in_order.Case(i));
      EXPECT_EQ(text, TextOf(in_another.Case(i)));
      EXPECT_NE(text, TextOf(of_another_seed.Case(i)));
    }
    EXPECT_EQ(far, TextOf(in_order.Case(2345)));
  }
}

TEST(FuzzGenerator, SeesPairsOfSettingsSoon) {
  for (const OperatorInfo* info : SomeOperators(10)) {
    CaseGenerator generator(*info, {}, TestSeed());
    generator.Case(999);
    const PairCoverage coverage = generator.coverage();
    // Most pairs of CAST are of two types and something else: 1,000 cases do not have them all.
    const int64_t percent = info->name == "CAST" ? 85 : 95;
    EXPECT_GE(coverage.seen, coverage.reachable * percent / 100) << info->name;
    PairSet seen;
    for (uint64_t i = 0; i < 1000; ++i) seen.Add(generator.SettingsOfCase(i));
    EXPECT_EQ(seen.count(), coverage.seen) << info->name;
    const auto missing = static_cast<int64_t>(generator.PairsWithout(seen).size());
    EXPECT_EQ(missing, coverage.reachable - coverage.seen) << info->name;
  }
}

using Pairs = std::set<std::pair<std::string, std::string>>;

void AddPairs(const DrawnCase& one, Pairs& pairs) {
  const std::vector<std::string> settings = SettingsOf(one.computation.op, one.values);
  for (const std::string& a : settings) {
    for (const std::string& b : settings) {
      if (a < b) pairs.emplace(a, b);
    }
  }
}

// Counted here, and compared with what three times as many cases have.
TEST(FuzzGenerator, SeesMostPairsThatManyCasesHave) {
  for (const char* name : {"GATHER", "MAX_POOLING2"}) {
    CaseGenerator generator(Named(name), {}, TestSeed());
    Pairs pairs;
    for (uint64_t i = 0; i < 1000; ++i) AddPairs(generator.Case(i), pairs);
    const size_t seen = pairs.size();
    EXPECT_EQ(static_cast<int64_t>(seen), generator.coverage().seen) << name;
    for (uint64_t i = 1000; i < 3000; ++i) AddPairs(generator.Case(i), pairs);
    EXPECT_GE(seen, pairs.size() * 95 / 100) << name;
  }
}

// Enumerators, booleans, optional tensors left out and layouts that an operator has.
std::set<std::string> ExpectedSettings(const OperatorInfo& info) {
  std::set<std::string> expected;
  for (const Field* field : info.fields) {
    if (field->name == "ReductionFunction") continue;  // of which only some are valid
    for (const std::string_view name : field->names.names) {
      expected.insert(fmt::format("{} {}", field->name, name));
    }
    if (field->kind == FieldKind::kBool) {
      expected.insert(fmt::format("{} true", field->name));
      expected.insert(fmt::format("{} false", field->name));
    }
    if (field->is_tensor() && field->optional) {
      expected.insert(fmt::format("{} absent", field->name));
    }
  }
  for (const char* layout : {"packed", "padded", "permuted", "broadcast"}) {
    const Field& first = *TensorFieldsOf(info).front();
    if (first.kind == FieldKind::kTensor && first.role == TensorRole::kInput) {
      expected.insert(fmt::format("{} {}", first.name, layout));
    }
  }
  return expected;
}

TEST(FuzzGenerator, DrawsEveryFormOfAnOperator) {
  for (const OperatorInfo* info : SomeOperators(12)) {
    std::set<std::string> expected = ExpectedSettings(*info);
    CaseGenerator generator(*info, {}, TestSeed());
    for (uint64_t i = 0; i < 500 && !expected.empty(); ++i) {
      const DrawnCase one = generator.Case(i);
      for (const std::string& setting : SettingsOf(one.computation.op, one.values)) {
        expected.erase(setting);
      }
    }
    for (const std::string& missing : expected) ADD_FAILURE() << info->name << ": " << missing;
  }
}

// --- bounds --------------------------------------------------------------------------------------

TEST(FuzzGenerator, KeepsToALevel) {
  const FeatureLevel level = FeatureLevels().front();
  CaseBounds bounds;
  bounds.level = level;
  CaseGenerator generator(Named("CONVOLUTION"), bounds, 0);
  for (uint64_t i = 0; i < 50; ++i) ExpectValid(generator.Case(i), level);
  EXPECT_FALSE(CaseGenerator(Named("MULTIHEAD_ATTENTION"), bounds, 0).can_draw());
}

TEST(FuzzGenerator, KeepsToTypesAndRanks) {
  CaseBounds bounds;
  bounds.types = {DataType::kInt8, DataType::kFloat16};
  bounds.ranks = {3, 6};
  CaseGenerator generator(Named("ELEMENT_WISE_ADD"), bounds, 0);
  std::set<std::pair<DataType, size_t>> seen;
  for (uint64_t i = 0; i < 100; ++i) {
    const DrawnCase one = generator.Case(i);
    const TensorDesc& a = one.computation.op[kATensor];
    seen.emplace(*a.data_type, a.rank());
  }
  const std::set<std::pair<DataType, size_t>> expected = {
      {DataType::kInt8, 3}, {DataType::kInt8, 6}, {DataType::kFloat16, 3}, {DataType::kFloat16, 6}};
  EXPECT_EQ(seen, expected);
  bounds.types = {DataType::kFloat64};
  EXPECT_FALSE(CaseGenerator(Named("ELEMENT_WISE_ADD"), bounds, 0).can_draw());
}

TEST(FuzzGenerator, KeepsFields) {
  CaseBounds bounds;
  bounds.kept = {{"/desc/TransA", "\"TRANSPOSE\"", ""},
                 {"/desc/Alpha", "0.5", ""},
                 {"/desc/CTensor", "null", ""},
                 {"/desc/ATensor/DataType", "\"FLOAT16\"", ""}};
  CaseGenerator generator(Named("GEMM"), bounds, 0);
  for (int i = 0; i < ShareOf(20); ++i) {
    const DrawnCase one = generator.Case(static_cast<uint64_t>(i));
    ExpectValid(one, kHighestFeatureLevel);
    const OperatorDesc& op = one.computation.op;
    EXPECT_EQ(Get<uint32_t>(op, "TransA"), 1u);
    EXPECT_EQ(Get<float>(op, "Alpha"), 0.5f);
    EXPECT_FALSE(one.values.contains("CTensor"));
    EXPECT_EQ(*op[kATensor].data_type, DataType::kFloat16);
  }
}

// What contradicts these in a draft follows them.
TEST(FuzzGenerator, KeepsFieldsThatSizesHangOn) {
  CaseBounds bounds;
  bounds.kept = {
      {"/desc/StartPadding", "[1, 2]", ""},   {"/desc/EndPadding/1", "3", ""},
      {"/desc/Strides", "[2, 1]", ""},        {"/desc/GroupCount", "2", ""},
      {"/desc/InputTensor/Sizes/0", "3", ""}, {"/desc/InputTensor/DataType", "\"FLOAT16\"", ""},
      {"/desc/FusedActivation", "null", ""},  {"/desc/FilterTensor/Strides", "null", ""}};
  CaseGenerator generator(Named("CONVOLUTION"), bounds, 0);
  for (int i = 0; i < ShareOf(20); ++i) {
    const DrawnCase one = generator.Case(static_cast<uint64_t>(i));
    ExpectValid(one, kHighestFeatureLevel);
    const OperatorDesc& op = one.computation.op;
    EXPECT_EQ(Get<Sizes>(op, "StartPadding"), (Sizes{1, 2}));
    EXPECT_EQ(Get<Sizes>(op, "EndPadding")[1], 3u);
    EXPECT_EQ(Get<Sizes>(op, "Strides"), (Sizes{2, 1}));
    EXPECT_EQ(Get<uint32_t>(op, "GroupCount"), 2u);
    EXPECT_EQ((*op[kInputTensor].sizes)[0], 3u);
    EXPECT_EQ(*op[kInputTensor].data_type, DataType::kFloat16);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(
        ValueOf(const_cast<OperatorDesc&>(op), "FusedActivation")));
    EXPECT_FALSE(Get<TensorDesc>(op, "FilterTensor").strides);
  }
}

TEST(FuzzGenerator, KeepsSizesOfATensor) {
  CaseBounds bounds;
  bounds.kept = {{"/desc/ATensor/Sizes", "[1, 2, 5, 7]", ""}};
  CaseGenerator generator(Named("GEMM"), bounds, 0);
  for (int i = 0; i < ShareOf(20); ++i) {
    const DrawnCase one = generator.Case(static_cast<uint64_t>(i));
    ExpectValid(one, kHighestFeatureLevel);
    EXPECT_EQ(*one.computation.op[kATensor].sizes, (Sizes{1, 2, 5, 7}));
  }
}

TEST(FuzzGenerator, RefusesFieldsAndValuesThatAnOperatorLacks) {
  for (const auto& [pointer, value] :
       std::vector<std::pair<std::string, std::string>>{{"/desc/Direction", "\"FORWARD\""},
                                                        {"/desc/TransA", "\"SIDEWAYS\""},
                                                        {"/desc/Alpha", "\"much\""},
                                                        {"/desc/NoTensor", "null"},
                                                        {"/desc/ATensor/NoMember", "1"},
                                                        {"/desc/Alpha", "{"}}) {
    CaseBounds bounds;
    bounds.kept = {{pointer, value, ""}};
    EXPECT_FALSE(CaseGenerator(Named("GEMM"), bounds, 0).can_draw()) << pointer << value;
  }
}

TEST(FuzzGenerator, LeavesTensorsPacked) {
  CaseBounds bounds;
  bounds.packed_only = true;
  CaseGenerator generator(Named("JOIN"), bounds, 0);
  for (uint64_t i = 0; i < 50; ++i) {
    const DrawnCase drawn = generator.Case(i);
    for (const TensorSlot& slot : TensorSlots(drawn.computation.op)) {
      EXPECT_FALSE(slot.desc->strides) << slot.path;
    }
  }
}

TEST(FuzzGenerator, KeepsToAnotherBound) {
  CaseBounds bounds;
  bounds.max_elements = 40;
  CaseGenerator generator(Named("SCATTER_ND"), bounds, 0);
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(IsWithinBounds(generator.Case(i).computation.op, 40));
  }
}

// --- values --------------------------------------------------------------------------------------

// Indices of all updates, with which `count` places are written.
TEST(FuzzGenerator, NeverUpdatesAnElementTwice) {
  for (const char* name : {"SCATTER", "SCATTER_ND", "MAX_UNPOOLING"}) {
    CaseGenerator generator(Named(name), {}, TestSeed());
    for (uint64_t i = 0; i < 60; ++i) {
      Computation one = generator.Case(i).computation;
      const bool has_data = one.inputs.size() == 3;
      const ElementBytes zero{};
      const ConstTensorView& updates = has_data ? one.inputs[2] : one.inputs[0];
      int64_t expected = updates.layout.element_count();
      ElementBytes number{};
      SetWhole(updates.type, 1, number.data());
      const Dims none = Dims::Filled(updates.layout.rank(), 0);
      one.inputs[has_data ? 2 : 0] = {number.data(), updates.type, {updates.layout.sizes, none}};
      if (has_data) {
        const ConstTensorView data = one.inputs[0];
        one.inputs[0] = {
            zero.data(), data.type, {data.layout.sizes, Dims::Filled(data.layout.rank(), 0)}};
      }
      const Buffer output = WholeOutput(one, 0);
      const size_t width = ByteWidth(updates.type);
      for (size_t k = 0; k < output.size(); k += width) {
        expected -= ValueOf(updates.type, output.data() + k) == 1 ? 1 : 0;
      }
      EXPECT_EQ(expected, 0) << name << i;
    }
  }
}

// Whether an element of an input is NaN.
bool HasNan(const ConstTensorView& view) {
  bool has = false;
  for (int64_t i = 0; i < view.layout.element_count(); ++i) {
    const int64_t offset = OffsetOfElement(view.layout, i);
    const double value =
        ValueOf(view.type, view.data + offset * static_cast<int64_t>(ByteWidth(view.type)));
    has |= value != value;
  }
  return has;
}

TEST(FuzzGenerator, LeavesOutNanWhereItIsOpenWhichOperandIsChosen) {
  for (const bool open : {false, true}) {
    CaseBounds bounds;
    bounds.open = open;
    bool has_nan = false;
    for (const char* name : {"ELEMENT_WISE_MAX", "MAX_POOLING", "ACTIVATION_RELU"}) {
      CaseGenerator generator(Named(name), bounds, 0);
      for (uint64_t i = 0; i < 300; ++i) {
        for (const auto& input : generator.Case(i).computation.inputs) has_nan |= HasNan(input);
      }
    }
    EXPECT_EQ(has_nan, open);
  }
}

TEST(FuzzGenerator, KeepsTheOtherInputsWhereAClassChanges) {
  CaseGenerator generator(Named("GEMM"), {}, 3);
  const DrawnCase one = generator.Case(4);
  ValueClasses classes = one.values;
  const Computation before = *DrawInputs(one.computation.op, classes, 9);
  classes["ATensor"] =
      classes["ATensor"] == InputClass::kTies ? InputClass::kEnds : InputClass::kTies;
  const Computation after = *DrawInputs(one.computation.op, classes, 9);
  const auto bytes = [](const ConstTensorView& view) {
    const auto size = static_cast<size_t>(Extent(view.layout)) * ByteWidth(view.type);
    return std::string(reinterpret_cast<const char*>(view.data), size);
  };
  EXPECT_NE(bytes(before.inputs[0]), bytes(after.inputs[0]));
  EXPECT_EQ(bytes(before.inputs[1]), bytes(after.inputs[1]));
}

// --- names ---------------------------------------------------------------------------------------

TEST(FuzzCaseName, IsReadAsItIsWritten) {
  const std::string name = FuzzCaseName(Named("GEMM"), 18446744073709551615u, 17);
  EXPECT_EQ(name, "GEMM/18446744073709551615/17");
  const auto id = ParseFuzzCaseName(name);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->info->name, "GEMM");
  EXPECT_EQ(id->seed, 18446744073709551615u);
  EXPECT_EQ(id->index, 17u);
}

TEST(FuzzCaseName, IsRefusedIfItIsNone) {
  for (const char* text : {"", "GEMM", "GEMM/0", "GEMM/0/", "GEMM//0", "GEMM/0/x", "GEMM/-1/0",
                           "GEM/0/0", "/0/0", "GEMM/0/18446744073709551616", "GEMM/0/1 "}) {
    EXPECT_FALSE(ParseFuzzCaseName(text)) << text;
  }
}

}  // namespace
}  // namespace dmlop
