// The command line, typed: one struct a command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/compare/alignment.h"
#include "core/compare/tolerances.h"
#include "core/io/tensor_file.h"
#include "core/tensor/feature_level.h"

namespace dmlop {

enum class ColorMode { kAuto, kAlways, kNever };
enum class TextFormat { kText, kJson };

struct CommonOptions {
  bool quiet = false;
  bool verbose = false;
  ColorMode color = ColorMode::kAuto;
};

// What passes as equal.
struct ComparisonRules {
  Tolerances tolerances;
  bool webnn_tolerance = false;
  Leniency leniency;
  FileShapes shapes = FileShapes::kAsTheyAre;
};

// What raw files hold, which do not say it themselves.
struct RawForm {
  std::optional<DataType> type;    // none: files are not raw
  std::vector<uint32_t> sizes;     // empty: one dimension, up to the end
  std::vector<uint32_t> strides;   // empty: packed
  std::optional<uint64_t> offset;  // in bytes; then a file may go on behind the tensor
};

struct RawForms {
  RawForm actual, expected;
};

struct RunOptions {
  std::string descriptor;
  std::optional<int64_t> line;      // of a manifest, where the descriptor is one
  std::vector<std::string> inputs;  // [NAME=]FILE, as are the next three
  std::vector<std::string> outputs;
  std::vector<std::string> expected;
  std::vector<std::string> judged;  // made elsewhere, and compared with what is computed here
  ComparisonRules rules;
  bool full = false;
  TextFormat format = TextFormat::kText;
  FeatureLevel level = kHighestFeatureLevel;
  std::optional<int> threads;
  std::string isa;                // empty: the best
  bool sync = false;              // files are on the disk when they appear
  std::string report;             // empty: none
  std::string input_folder;       // of a model's files; empty: the model's own
  std::string output_folder;      // of the files that a model writes; empty: the current one
  std::string confine;            // where all files of the document must lie; empty: anywhere
  std::vector<std::string> keep;  // NAME=FILE, of tensors between a model's operators
  std::string keep_folder;        // for all of those; empty: none
};

struct ValidateOptions {
  std::vector<std::string> descriptors;
  std::optional<int64_t> line;  // as for run
  FeatureLevel level = kHighestFeatureLevel;
  TextFormat format = TextFormat::kText;
  std::string input_folder;  // as for run
  std::string confine;
  FileShapes shapes = FileShapes::kAsTheyAre;
  bool print_complete = false;
  bool to_model = false;
};

enum class BenchFormat { kTable, kJson, kCsv, kMarkdown };
enum class BenchCaches { kBoth, kHot, kCold };

struct BenchOptions {
  std::vector<std::string> descriptors;
  std::optional<int64_t> line;      // as for run
  std::vector<std::string> inputs;  // [NAME=]FILE
  FileShapes shapes = FileShapes::kAsTheyAre;
  std::vector<int> threads;  // empty: the default
  BenchCaches caches = BenchCaches::kBoth;
  double min_seconds = 0.5;  // of a row
  std::optional<BenchFormat> format;
  std::string output;               // empty: standard output
  std::string baseline;             // empty: none
  std::optional<double> fail_over;  // slower than the baseline by this fraction of it
  FeatureLevel level = kHighestFeatureLevel;
  std::string isa;      // empty: the best
  std::string confine;  // as for run
};

struct CompareOptions {
  std::string actual;
  std::string expected;
  RawForms raw;
  ComparisonRules rules;
  size_t most_listed = 0;  // of the differences
  bool map = false;
  std::string picture;  // empty: none
  TextFormat format = TextFormat::kText;
};

struct ShowOptions {
  std::vector<std::string> files;  // slices, which begin with '[', after the file that they are of
  RawForm raw;
  TextFormat format = TextFormat::kText;
  bool statistics = false;
  bool full = false;
  bool bits = false;
  bool map = false;
  std::string picture;  // empty: none
  std::string find;     // the tensor that is looked for in the file; empty: none
};

// Names of a document: the tensors that an element may be of, those that operators fill, and the
// operators of a model.
enum class ListedNames { kTensors, kFilled, kDispatchables };

struct ExplainOptions {
  std::string descriptor;
  std::optional<int64_t> line;  // as for run
  std::string element;
  std::vector<std::string> inputs;  // [NAME=]FILE
  FileShapes shapes = FileShapes::kAsTheyAre;
  std::string dispatchable;  // of a model; empty: its only one
  std::string input_folder;  // as for run
  std::string confine;
  TextFormat format = TextFormat::kText;
  bool full = false;
  std::optional<ListedNames> listed{};  // in place of an explanation; then there is no element
};

struct OpsOptions {
  std::string name;          // empty: list all, or those like `like`
  std::string like;          // another library's name
  std::string manual;        // the group of operators whose page is printed; empty: none
  bool is_template = false;  // a descriptor is printed, not a description
  std::optional<FeatureLevel> level;
  TextFormat format = TextFormat::kText;
};

// K of N, both from 1: every N-th case, beginning with the K-th.
struct Shard {
  int64_t number = 1;
  int64_t count = 1;
};

struct BatchOptions {
  std::string manifest;
  bool check = false;
  bool judge = false;
  bool keep_going = false;
  bool resume = false;
  bool expand = false;
  bool times = true;
  bool sync = false;  // as for run
  Shard shard;
  std::optional<int64_t> line;    // of the only case to run
  int64_t max_cases = 1'000'000;  // that a sweep may become
  std::string report;             // empty: none
  std::string output_folder;      // in place of what all outputs have in common; empty: none
  bool allow_empty = false;
  bool has_inputs = false;  // those whose values the lines state, beside the outputs
  ComparisonRules rules;
  FeatureLevel level = kHighestFeatureLevel;
  std::optional<int> threads;
  std::string isa;      // empty: the best
  std::string confine;  // as for run
};

}  // namespace dmlop
