// Integers of 128 bits, which the compilers have beside the language.
#pragma once

namespace dmlop {

__extension__ using Int128 = __int128;

}  // namespace dmlop
