// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/base/error.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

// Next to the program in a build tree; in the library folder once installed.
std::string ModulePath() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path beside = folder / kBenchModule;
  return fs::exists(beside) ? beside.string()
                            : (folder / DMLOP_MODULE_FOLDER / kBenchModule).string();
}

}  // namespace

const BenchLibrary& LoadBenchLibrary() {
  void* module = dlopen(ModulePath().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = module == nullptr ? nullptr : dlsym(module, kBenchLibrarySymbol);
  if (symbol == nullptr) {
    throw Error(ErrorKind::kFileSystem, "bench needs a module that cannot be loaded: {}",
                dlerror());
  }
  return *reinterpret_cast<const BenchLibrary* (*)()>(symbol)();
}

}  // namespace dmlop
