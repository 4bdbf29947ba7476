#include "app/bench_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "core/base/error.h"

namespace dmlop {

const BenchLibrary& LoadBenchLibrary() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string path = (program.parent_path() / kBenchModule).string();
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = module == nullptr ? nullptr : dlsym(module, kBenchLibrarySymbol);
  if (symbol == nullptr) {
    throw Error(ErrorKind::kFileSystem,
                fmt::format("bench needs a module that cannot be loaded: {}", dlerror()));
  }
  return *reinterpret_cast<const BenchLibrary* (*)()>(symbol)();
}

}  // namespace dmlop
