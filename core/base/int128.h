// 128-bit integers, which compilers provide as an extension.
#pragma once

namespace dmlop {

__extension__ using Int128 = __int128;

}  // namespace dmlop
