// SPDX-License-Identifier: Apache-2.0
// Times an operator, and the limits of memory, in turns with other programs:
//
//   operator_turns DESCRIPTOR [LIMIT]
//
// DESCRIPTOR is the JSON text of an operator, optionally with values bound to inputs; others have
// samples. LIMIT is copy, read or write; by default, the one that matches what the operator moves.
// First prints one line for each workload, its name and the bytes that a call moves: the operator,
// and each way to reach the limit. Then each line of standard input is the number of the workload
// whose turn it is; the answer is the median of its calls' seconds. peers.py assigns the turns.
//
//   operator_turns --loops THREADS DESCRIPTOR
//
// Runs the operator on one thread, cut into pieces as for THREADS. Prints the seconds outside of
// its loops, and a line for each loop: its pieces, its seconds, and those of its longest piece.
// span.py calls it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/fixture.h"
#include "bench/limits.h"
#include "core/base/parallel.h"
#include "core/document/operator_document.h"
#include "core/engine/copy/copy_views.h"

namespace dmlop {
namespace {

constexpr double kSecondsPerTurn = 0.02;

std::shared_ptr<Workload> WorkloadOf(const OperatorDocument& document, Diagnostics& diagnostics) {
  auto workload = std::make_shared<Workload>(document.op());
  const auto slots = TensorSlots(document.op(), TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto binding = document.bindings().find(slots[i].path);
    if (binding == document.bindings().end()) continue;
    const LoadedTensor values =
        document.InlineTensor(slots[i], binding->second.values.value(), diagnostics);
    CopyView(values.view, {workload->input(i), values.view.type, LayoutOf(*slots[i].desc)});
  }
  return workload;
}

std::shared_ptr<Workload> ReadOperator(const std::string& text) {
  Diagnostics diagnostics;
  std::optional<JsonDocument> json = JsonDocument::Parse(text, diagnostics);
  if (json) {
    OperatorDocument document(*std::move(json), "", diagnostics);
    if (document.has_operator()) {
      document.Check(kHighestFeatureLevel, diagnostics);
      if (!diagnostics.has_errors()) return WorkloadOf(document, diagnostics);
    }
  }
  std::fprintf(stderr, "not an operator that can run: %s\n", text.c_str());
  std::exit(2);
}

// The first call is not timed, as it wakes the threads up.
template <class W>
double TakeTurn(W& workload) {
  workload.Run();
  std::vector<double> seconds;
  double sum = 0;
  while (sum < kSecondsPerTurn) {
    seconds.push_back(SecondsOf(workload));
    sum += seconds.back();
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

// Prints its name and bytes; returns a function that takes a turn.
template <class W>
std::function<double()> Introduce(const char* name, std::shared_ptr<W> workload) {
  std::cout << name << ' ' << workload->bytes() << '\n';
  return [workload] { return TakeTurn(*workload); };
}

int Main(const std::string& descriptor, std::string_view limit) {
  const std::shared_ptr<Workload> workload = ReadOperator(descriptor);
  if (limit.empty()) limit = Name(LimitOf(workload->traffic()));
  std::vector<std::function<double()>> turns;
  turns.push_back(Introduce("Operator", workload));
  for (const LimitWay& way : kLimitWays) {
    if (Name(way.limit) == limit) {
      turns.push_back(Introduce(way.name, std::make_shared<LimitWorkload>(way)));
    }
  }
  std::cout << std::endl;
  for (size_t number; std::cin >> number && number < turns.size();) {
    std::cout << turns[number]() << std::endl;
  }
  return 0;
}

// Keeps the least times of each loop, which other processes have disturbed least.
void TakeLeast(const WorkRecord& record, WorkRecord& least) {
  if (record.loops.size() != least.loops.size()) {
    least = record;
    return;
  }
  least.serial_seconds = std::min(least.serial_seconds, record.serial_seconds);
  for (size_t i = 0; i < least.loops.size(); ++i) {
    LoopRecord& loop = least.loops[i];
    loop.seconds = std::min(loop.seconds, record.loops[i].seconds);
    loop.longest = std::min(loop.longest, record.loops[i].longest);
  }
}

int PrintLoops(int threads, const std::string& descriptor) {
  constexpr int kLeastRuns = 5;
  constexpr double kLeastSeconds = 0.3;
  const std::shared_ptr<Workload> workload = ReadOperator(descriptor);
  const auto run = [&] { return RecordLoops(threads, [&] { workload->Run(); }); };
  WorkRecord least = run();
  double spent = 0;
  for (int i = 0; i < kLeastRuns || spent < kLeastSeconds; ++i) {
    const WorkRecord record = run();
    spent += record.seconds();
    TakeLeast(record, least);
  }
  std::cout << least.serial_seconds << '\n';
  for (const LoopRecord& loop : least.loops) {
    std::cout << loop.pieces << ' ' << loop.seconds << ' ' << loop.longest << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace dmlop

int main(int argc, char** argv) {
  if (argc == 4 && argv[1] == std::string_view("--loops")) {
    return dmlop::PrintLoops(std::atoi(argv[2]), argv[3]);
  }
  if (argc == 2 || argc == 3) return dmlop::Main(argv[1], argc == 3 ? argv[2] : "");
  std::fprintf(stderr,
               "usage: operator_turns DESCRIPTOR [LIMIT]\n"
               "       operator_turns --loops THREADS DESCRIPTOR\n");
  return 2;
}
