// What a reader of bench's rows should know about how they were measured.
#pragma once

#include <string>
#include <vector>

#include "app/bench/bench_row.h"

namespace dmlop {

// The share of the time of calls in which the process had a processor; above 1 with threads.
double CpuShareOf(const BenchRow& row);

// A line for each cause, however many rows it has; nothing where all is well.
std::vector<std::string> NotesAbout(const BenchReport& report);

// "sum.json/hot/threads:1 and 2 more", for rows that one thing is said of.
std::string NameAll(const std::vector<std::string>& keys);

}  // namespace dmlop
