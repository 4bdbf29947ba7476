// SPDX-License-Identifier: Apache-2.0
// The typed command line: a struct for each command.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/alignment.h"
#include "core/compare/comparison.h"
#include "core/compare/error_measure.h"
#include "core/io/tensor_file.h"
#include "core/tensor/data_type.h"
#include "core/tensor/unit_tolerance.h"

namespace dmlop {

enum class ColorMode { kAuto, kAlways, kNever };
enum class TextFormat { kText, kJson };

struct CommonOptions {
  bool quiet = false;
  bool verbose = false;
  ColorMode color = ColorMode::kAuto;
};

// The rules by which values are equal.
struct ComparisonRules {
  Tolerances tolerances;
  UnitTolerance units;
  bool webnn_tolerance = false;
  Leniency leniency;
  FileShapes shapes = FileShapes::kAsTheyAre;
  // Whether these have precedence over the tolerance of a descriptor, which is that of its results.
  bool have_precedence = false;
};

// The form of raw files, which do not state it themselves.
struct RawForm {
  std::optional<DataType> type;    // null if files are not raw
  bool is_bfloat16 = false;        // and the type is FLOAT16, which has as many bytes
  std::vector<uint32_t> sizes;     // empty: one dimension up to the end
  std::vector<uint32_t> strides;   // empty if packed
  std::optional<uint64_t> offset;  // in bytes; if set, a file may extend beyond the tensor
};

struct RawForms {
  RawForm actual, expected;
};

// Sizes that a model leaves open, as the command line has them.
struct ModelSizes {
  std::vector<std::string> free;         // NAME:SIZE
  std::vector<std::string> denotations;  // the same by what a dimension stands for
  std::vector<std::string> shapes;       // INPUT:SIZES
};

// Options of all commands that take a descriptor, a model or a manifest.
struct DocumentOptions {
  std::optional<int64_t> line;  // of a manifest: only the case in it
  std::string confine;          // all files of the document must lie in it; empty: no limit
  ModelSizes sizes;
};

// Says what is shown of differences besides the figures.
struct DrawingOptions {
  size_t most_listed = 0;  // differences listed
  bool map = false;
  std::string picture;  // empty for none
  std::optional<ErrorMeasure> measure;

  bool draws() const { return map || !picture.empty(); }
};

struct RunOptions : DocumentOptions {
  std::string descriptor;
  std::vector<std::string> inputs;  // [NAME=]FILE, like the next three
  std::vector<std::string> outputs;
  std::vector<std::string> expected;
  std::vector<std::string> judged;  // made elsewhere; compared with what is computed here
  std::vector<std::string> as;      // ids of what a device may have computed instead
  ComparisonRules rules;
  DrawingOptions drawing;
  bool full = false;
  TextFormat format = TextFormat::kText;
  FeatureLevel level = kHighestFeatureLevel;
  std::optional<int> threads;
  std::string isa;                // empty for the best
  bool sync = false;              // files are on disk before they appear
  std::string report;             // empty for none
  std::string input_folder;       // base of a model's input files; empty: the model's own
  std::string output_folder;      // base of the files that a model writes; empty: the current one
  std::vector<std::string> keep;  // NAME=FILE, for tensors between a model's operators
  std::string keep_folder;        // for all of those tensors; empty for none
};

struct ValidateOptions : DocumentOptions {
  std::vector<std::string> descriptors;
  FeatureLevel level = kHighestFeatureLevel;
  TextFormat format = TextFormat::kText;
  std::string input_folder;  // as for run
  FileShapes shapes = FileShapes::kAsTheyAre;
  bool print_complete = false;
  bool to_model = false;
  std::vector<std::string> inputs;  // [NAME=]FILE
  std::string output_folder;        // for the arrays of a model that is printed; empty for none
  std::string cases_folder;         // for one descriptor a node; empty for none
};

enum class BenchFormat { kTable, kJson, kCsv, kMarkdown };
enum class BenchCaches { kBoth, kHot, kCold };

struct BenchOptions : DocumentOptions {
  std::vector<std::string> descriptors;
  std::vector<std::string> inputs;  // [NAME=]FILE
  FileShapes shapes = FileShapes::kAsTheyAre;
  std::vector<int> threads;  // empty for the default
  BenchCaches caches = BenchCaches::kBoth;
  double min_seconds = 0.5;  // for a row
  std::optional<BenchFormat> format;
  std::string output;               // empty for standard output
  std::string baseline;             // empty for none
  std::optional<double> fail_over;  // allowed slowdown as a fraction of the baseline
  FeatureLevel level = kHighestFeatureLevel;
  std::string isa;  // empty for the best
};

struct CompareOptions {
  std::vector<std::string> files;  // the actual and the expected one, and a slice after each
  RawForms raw;
  ComparisonRules rules;
  DrawingOptions drawing;
  TextFormat format = TextFormat::kText;
  bool skip_missing = false;  // files that the actual folder lacks are counted and not compared
};

struct ShowOptions {
  std::vector<std::string> files;  // and slices, which begin with '[', after their file
  RawForm raw;
  TextFormat format = TextFormat::kText;
  bool statistics = false;
  bool full = false;
  bool bits = false;
  bool map = false;
  std::string picture;  // empty for none
  std::string find;     // tensor to look for in the file; empty for none
  ModelSizes sizes;
};

// Names of a document: the tensors that an element may be of, those that operators fill, and the
// operators of a model.
enum class ListedNames { kTensors, kFilled, kDispatchables };

struct ExplainOptions : DocumentOptions {
  std::string descriptor;
  std::string element;
  std::vector<std::string> inputs;    // [NAME=]FILE
  std::vector<std::string> as;        // as for run
  std::optional<std::string> actual;  // a device's value of the element
  std::vector<std::string> judged;    // [NAME=]FILE with a device's output
  FileShapes shapes = FileShapes::kAsTheyAre;
  std::string dispatchable;  // of a model; empty for its only one
  std::string input_folder;  // as for run
  TextFormat format = TextFormat::kText;
  bool full = false;
  std::optional<ListedNames> listed{};  // in place of an explanation; then there is no element
};

struct DiagnoseOptions : DocumentOptions {
  std::string descriptor;
  std::vector<std::string> actual;  // [NAME=]FILE, like the next one
  std::vector<std::string> inputs;
  ComparisonRules rules;
  std::string node;  // of a model; empty for its only one, or for all of a dump
  std::string from;  // folder with what a device has for the tensors of a model; empty for none
  bool is_thorough = false;  // looks at all elements, however many
  TextFormat format = TextFormat::kText;
};

struct OpsOptions {
  std::string name;                 // empty: list all, or those like `like`
  std::string like;                 // a name in another library
  bool lists_counterparts = false;  // those of the fields of `name` in other libraries
  std::string manual;               // group of operators whose page is printed; empty for none
  bool is_template = false;         // print a descriptor instead of a description
  std::optional<FeatureLevel> level;
  TextFormat format = TextFormat::kText;
};

enum class ReportFormat { kTable, kCsv, kMarkdown, kJson, kJunit, kHtml };

// The keys by which the cases of reports can be grouped.
inline constexpr std::string_view kReportKeys[] = {"operator",  "type",  "sizes", "name",
                                                   "tolerance", "where", "cause", "status"};

struct ReportOptions {
  std::vector<std::string> reports;
  std::vector<std::string> by = {"operator", "type"};  // some of kReportKeys
  ReportFormat format = ReportFormat::kTable;
  std::string output;  // empty for standard output
};

// K of N, both counted from 1: every N-th case, beginning with the K-th.
struct Shard {
  int64_t number = 1;
  int64_t count = 1;
};

struct BatchOptions : DocumentOptions {
  std::string manifest;
  bool check = false;
  bool judge = false;
  bool is_diagnosed = false;  // what differs is grouped by cause
  bool keep_going = false;
  bool resume = false;
  bool expand = false;
  bool times = true;
  bool sync = false;          // as for run
  bool complete = false;      // expanded cases have everything that can be left out
  bool skip_missing = false;  // outputs without a file are counted and not compared
  std::string only;           // operator whose cases are taken; empty for all
  Shard shard;
  int64_t max_cases = 1'000'000;  // limit for the cases of a sweep
  std::string report;             // empty for none
  std::string output_folder;      // replaces the outputs' common folder; empty for none
  bool allow_empty = false;
  bool has_inputs = false;  // input values that lines state have files next to the outputs
  ComparisonRules rules;
  DrawingOptions drawing;  // of the case of `line`
  FeatureLevel level = kHighestFeatureLevel;
  std::optional<int> threads;
  std::string isa;  // empty for the best
};

}  // namespace dmlop
