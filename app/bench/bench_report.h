// SPDX-License-Identifier: Apache-2.0
// The results of bench in four formats, part by part: each row is printed once it is measured.
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

  // The text before the rows, for each row, and after them; together they are the whole text.
  virtual std::string Begin() = 0;
  virtual std::string Row(const BenchRow& row) = 0;
  virtual std::string End() { return ""; }
};

// `width` is the terminal's, in columns: columns of the table are omitted to fit it, and each row
// gets a bar. If it is empty, there is no terminal, and the table is complete and without bars.
std::unique_ptr<ResultText> MakeTable(const BenchPlan& plan, std::optional<size_t> width);

std::unique_ptr<ResultText> MakeMarkdown(const BenchPlan& plan);
std::unique_ptr<ResultText> MakeCsv(const BenchPlan& plan);

// Google Benchmark's layout: for each row its samples and their aggregates, then those of its
// limit.
std::unique_ptr<ResultText> MakeJson(const BenchPlan& plan, const BenchLibrary& library);

// The key of the JSON's context for the descriptor of the operator called `name`.
std::string DescriptorKey(const std::string& name);

}  // namespace dmlop
