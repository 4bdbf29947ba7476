// SPDX-License-Identifier: Apache-2.0
// Notes on how bench's rows were measured.
#pragma once

#include <string>
#include <vector>

#include "app/bench/bench_row.h"

namespace dmlop {

// CPU time divided by elapsed time of the calls; above 1 with several threads.
double CpuShareOf(const BenchRow& row);

// One line for each cause, however many rows it affects; empty if there is none.
std::vector<std::string> NotesAbout(const BenchReport& report);

// "sum.json/hot/threads:1 and 2 more", for a message about several rows.
std::string NameAll(const std::vector<std::string>& keys);

}  // namespace dmlop
