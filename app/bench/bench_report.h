// The results of bench in four formats, in parts: each row is printed once it is measured.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/bench/bench_row.h"
#include "app/options/options.h"

namespace dmlop {

class ResultText {
 public:
  virtual ~ResultText() = default;

  // What stands before, for, and behind the rows; together they are the whole text.
  virtual std::string Begin() = 0;
  virtual std::string Row(const BenchRow& row) = 0;
  virtual std::string End() { return ""; }
};

// `width` is that of the terminal, in columns: columns of the table are left out to fit it, and
// each row gets a bar. Empty for anything but a terminal: the table is whole and without bars.
std::unique_ptr<ResultText> MakeTable(const BenchPlan& plan, std::optional<size_t> width);

std::unique_ptr<ResultText> MakeMarkdown(const BenchPlan& plan);
std::unique_ptr<ResultText> MakeCsv(const BenchPlan& plan);

// Google Benchmark's layout: for each row its samples and their aggregates, then those of its
// limit.
std::unique_ptr<ResultText> MakeJson(const BenchPlan& plan, const BenchLibrary& library);

// In the JSON's context, the descriptor of the operator of that name stands under this key.
std::string DescriptorKey(const std::string& name);

}  // namespace dmlop
