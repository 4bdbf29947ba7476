// The support tables against the reference pages, copied cell by cell.

#include "core/ops/support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/ops/operator.h"
#include "core/ops/support_check.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

struct PageRow {
  std::string since;
  size_t min_rank, max_rank;
  std::string input;
  std::string output;

  friend bool operator==(const PageRow&, const PageRow&) = default;
  friend void PrintTo(const PageRow& row, std::ostream* out) {
    *out << row.since << " " << row.min_rank << "-" << row.max_rank << " " << row.input << " -> "
         << row.output;
  }
};

struct PageTable {
  std::string name;  // operator, and function where they differ
  std::string operator_name;
  std::string applies_to;
  std::vector<PageRow> rows;  // the page has the newest first
};

const std::string kAll =
    "FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8";
const std::string kNo64 = "FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, UINT16, UINT8";
const std::string kNo64No8 = "FLOAT32, FLOAT16, INT32, INT16, UINT32, UINT16";
const std::string kNoDouble =
    "FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8";
const std::string kFloats = "FLOAT32, FLOAT16";
const std::string kFloatsAnd32 = "FLOAT32, FLOAT16, INT32, UINT32";
const std::string kFloatsAnd32And64 = "FLOAT32, FLOAT16, INT64, INT32, UINT64, UINT32";
const std::string kIndices = "INT64, INT32, UINT64, UINT32";

const PageTable kPageTables[] = {
    {"IDENTITY",
     "ELEMENT_WISE_IDENTITY",
     "",
     {{"4_1", 1, 8, kAll, kAll},
      {"3_0", 1, 8, kNo64, kNo64},
      {"2_1", 4, 5, kNo64, kNo64},
      {"1_0", 4, 5, kFloats, kFloats}}},
    // The page has no row for 3_1, from which the history of feature levels grants 8 dimensions.
    {"JOIN",
     "JOIN",
     "",
     {{"4_1", 1, 8, kAll, kAll},
      {"3_1", 1, 8, kNo64, kNo64},
      {"3_0", 4, 5, kNo64, kNo64},
      {"2_1", 4, 4, kNo64, kNo64},
      {"1_0", 4, 4, kNo64No8, kNo64No8}}},
    {"SPLIT",
     "SPLIT",
     "",
     {{"4_1", 1, 8, kAll, kAll},
      {"3_0", 1, 8, kNo64, kNo64},
      {"2_1", 4, 4, kNo64, kNo64},
      {"1_0", 4, 4, kNo64No8, kNo64No8}}},
    {"REDUCE_ArgMinAndArgMax",
     "REDUCE",
     "ARGMAX, ARGMIN",
     {{"4_1", 1, 8, kNoDouble, kIndices},
      {"3_0", 1, 8, kNo64, kIndices},
      {"2_1", 4, 4, kNo64, "UINT32"},
      {"1_0", 4, 4, kFloats, "UINT32"}}},
    {"REDUCE_AverageL2LogSumAndLogSumExp",
     "REDUCE",
     "AVERAGE, L2, LOG_SUM, LOG_SUM_EXP",
     {{"3_0", 1, 8, kFloats, kFloats}, {"1_0", 4, 4, kFloats, kFloats}}},
    {"REDUCE_L1AndSumSquare",
     "REDUCE",
     "L1, SUM_SQUARE",
     {{"5_0", 1, 8, kFloatsAnd32And64, kFloatsAnd32And64},
      {"3_0", 1, 8, kFloats, kFloats},
      {"1_0", 4, 4, kFloats, kFloats}}},
    {"REDUCE_MinAndMax",
     "REDUCE",
     "MAX, MIN",
     {{"5_0", 1, 8, kNoDouble, kNoDouble},
      {"3_0", 1, 8, kNo64, kNo64},
      {"2_1", 4, 4, kFloatsAnd32, kFloatsAnd32},
      {"1_0", 4, 4, kFloats, kFloats}}},
    {"REDUCE_MultiplyAndSum",
     "REDUCE",
     "MULTIPLY, SUM",
     {{"5_0", 1, 8, kFloatsAnd32And64, kFloatsAnd32And64},
      {"3_0", 1, 8, kFloatsAnd32, kFloatsAnd32},
      {"2_1", 4, 4, kFloatsAnd32, kFloatsAnd32},
      {"1_0", 4, 4, kFloats, kFloats}}},
    // The page leaves the types blank (UNF-5).
    {"UNFOLD", "UNFOLD", "", {{"6_4", 3, 8, kAll, kAll}}},
};

std::string AppliesTo(const SupportTable& table) {
  std::string names;
  if (table.of == nullptr) return names;
  for (uint32_t i = 0; i < table.of->names.names.size(); ++i) {
    if (table.Holds(i))
      names += (names.empty() ? "" : ", ") + std::string(table.of->names.names[i]);
  }
  return names;
}

class SupportTablesOf : public testing::TestWithParam<PageTable> {};

TEST_P(SupportTablesOf, AreThoseOfThePage) {
  for (const SupportTable& table : FindOperator(GetParam().operator_name)->support) {
    if (AppliesTo(table) != GetParam().applies_to) continue;
    std::vector<PageRow> rows;
    for (const SupportRow& row : table.rows) {
      const DataTypeSet input = row.TypesOf(TypeVariable::kT);
      const DataTypeSet own = row.TypesOf(TypeVariable::kU);
      rows.insert(rows.begin(), {ToString(row.since), row.min_rank, row.max_rank, ToString(input),
                                 ToString(own.empty() ? input : own)});
    }
    EXPECT_EQ(rows, GetParam().rows);
    return;
  }
  FAIL() << "no such table";
}

INSTANTIATE_TEST_SUITE_P(Pages, SupportTablesOf, testing::ValuesIn(kPageTables),
                         CaseName<PageTable>);

TEST(SupportTables, ServeEachFunctionOnce) {
  for (size_t i = 0; i < kReduceFunctionNames.size(); ++i) {
    OperatorDesc desc = OperatorNamed("REDUCE");
    Set(desc, "Function", static_cast<ReduceFunction>(i));
    const auto tables = desc.info().support;
    EXPECT_EQ(1, std::count_if(tables.begin(), tables.end(), [&](const SupportTable& table) {
                return table.Holds(static_cast<uint32_t>(i));
              }));
    EXPECT_TRUE(SupportFor(desc)->Holds(static_cast<uint32_t>(i)));
  }
}

// --- the lowest level of a desc ------------------------------------------------------------------

struct LevelCase {
  std::string name;
  OperatorDesc desc;
  std::string level;
};

TensorDesc Tensor(DataType type, size_t rank) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = std::vector<uint32_t>(rank, 2);
  return desc;
}

OperatorDesc Identity(DataType type, size_t rank) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Tensor(type, rank));
  return desc;
}

OperatorDesc Join(DataType type, size_t rank) {
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "InputTensors", {Tensor(type, rank), Tensor(type, rank)});
  Set(desc, "Axis", 0u);
  return desc;
}

OperatorDesc Split(DataType type, size_t rank) {
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "InputTensor", Tensor(type, rank));
  Set(desc, "OutputTensors", std::vector<TensorDesc>(2));
  Set(desc, "Axis", 0u);
  return desc;
}

// ARGMIN and ARGMAX give `output`; the others the input's type.
OperatorDesc Reduce(ReduceFunction function, DataType type, size_t rank,
                    std::optional<DataType> output = std::nullopt) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "InputTensor", Tensor(type, rank));
  Set(desc, "Axes", {0});
  std::get<TensorDesc>(ValueOf(desc, "OutputTensor")).data_type = output;
  return desc;
}

OperatorDesc Unfold(DataType type, size_t rank) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "InputTensor", Tensor(type, rank));
  const std::vector<uint32_t> ones(rank - 2, 1);
  for (const char* field : {"WindowSizes", "Strides", "Dilations"}) Set(desc, field, ones);
  for (const char* field : {"StartPadding", "EndPadding"})
    Set(desc, field, std::vector<uint32_t>(rank - 2, 0));
  return desc;
}

using enum DataType;
using enum ReduceFunction;

const LevelCase kLevelCases[] = {
    {"IDENTITY_Float32", Identity(kFloat32, 4), "1_0"},
    {"IDENTITY_Int8", Identity(kInt8, 5), "2_1"},
    {"IDENTITY_Rank3", Identity(kFloat16, 3), "3_0"},
    {"IDENTITY_Uint64", Identity(kUint64, 4), "4_1"},
    {"JOIN_Int16", Join(kInt16, 4), "1_0"},
    {"JOIN_Uint8", Join(kUint8, 4), "2_1"},
    {"JOIN_Rank5", Join(kFloat32, 5), "3_0"},
    {"JOIN_Rank8", Join(kFloat32, 8), "3_1"},
    {"JOIN_Float64", Join(kFloat64, 1), "4_1"},
    {"SPLIT_Uint32", Split(kUint32, 4), "1_0"},
    {"SPLIT_Rank5", Split(kFloat32, 5), "3_0"},
    {"SPLIT_Rank8", Split(kFloat32, 8), "3_0"},
    {"SPLIT_Int64", Split(kInt64, 4), "4_1"},
    {"ARGMAX_Float16", Reduce(kArgMax, kFloat16, 4, kUint32), "1_0"},
    {"ARGMAX_Int8", Reduce(kArgMax, kInt8, 4, kUint32), "2_1"},
    {"ARGMAX_ToInt32", Reduce(kArgMax, kFloat32, 4, kInt32), "3_0"},
    {"ARGMAX_OfUint64", Reduce(kArgMax, kUint64, 4, kUint32), "4_1"},
    {"AVERAGE_Rank4", Reduce(kAverage, kFloat32, 4), "1_0"},
    {"AVERAGE_Rank2", Reduce(kAverage, kFloat32, 2), "3_0"},
    {"L1_Float32", Reduce(kL1, kFloat32, 4), "1_0"},
    {"L1_Int32", Reduce(kL1, kInt32, 4), "5_0"},
    {"MAX_Int32", Reduce(kMax, kInt32, 4), "2_1"},
    {"MIN_Int8", Reduce(kMin, kInt8, 4), "3_0"},
    {"MIN_Int64", Reduce(kMin, kInt64, 4), "5_0"},
    {"SUM_Uint32", Reduce(kSum, kUint32, 4), "2_1"},
    {"MULTIPLY_Uint64", Reduce(kMultiply, kUint64, 4), "5_0"},
    {"UNFOLD_Float32", Unfold(kFloat32, 4), "6_4"},
};

class MinimumLevel : public testing::TestWithParam<LevelCase> {};

TEST_P(MinimumLevel, IsTheFirstThatTakesTheTensors) {
  OperatorDesc desc = GetParam().desc;
  Complete(desc);
  EXPECT_EQ(ToString(MinimumFeatureLevel(desc)), GetParam().level);
  for (const FeatureLevel level : FeatureLevels()) {
    Diagnostics diagnostics;
    Check(desc, level, diagnostics);
    EXPECT_EQ(diagnostics.has_errors(), level < MinimumFeatureLevel(desc)) << ToString(level);
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, MinimumLevel, testing::ValuesIn(kLevelCases),
                         CaseName<LevelCase>);

}  // namespace
}  // namespace dmlop
