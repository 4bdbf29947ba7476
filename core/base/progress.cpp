// SPDX-License-Identifier: Apache-2.0
#include "core/base/progress.h"

#include <utility>

namespace dmlop {
namespace {

std::function<void(const Work&)>& Watcher() {
  static std::function<void(const Work&)> watcher;
  return watcher;
}

std::atomic<Work*> watched = nullptr;

}  // namespace

Work::Work(std::string what, int64_t bytes)
    : what_(std::move(what)), expected_(bytes), start_(std::chrono::steady_clock::now()) {
  if (Watcher()) watched = this;
}

Work::~Work() {
  watched = nullptr;
}

double Work::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void WatchWork(std::function<void(const Work&)> watcher) {
  Watcher() = std::move(watcher);
}

bool IsWatched() {
  return watched != nullptr;
}

void FindWork(int64_t bytes) {
  if (Work* work = watched) work->found_ += bytes;
}

void AddDone(int64_t bytes) {
  Work* work = watched;
  if (work == nullptr) return;
  work->done_ += bytes;
  Watcher()(*work);
}

}  // namespace dmlop
