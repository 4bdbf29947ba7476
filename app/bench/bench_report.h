// The results of bench in four formats.
#pragma once

#include <optional>
#include <string>

#include "app/bench/bench_row.h"
#include "app/options/options.h"

namespace dmlop {

// `width` is that of the terminal, in columns: columns of the table are left out to fit it, and
// each row gets a bar. Empty for anything but a terminal: the table is whole and without bars.
std::string TableText(const BenchReport& report, std::optional<size_t> width);

std::string MarkdownText(const BenchReport& report);
std::string CsvText(const BenchReport& report);

// Google Benchmark's layout: for each row its samples and their aggregates, then those of its
// limit.
std::string JsonText(const BenchReport& report, const BenchLibrary& library);

}  // namespace dmlop
