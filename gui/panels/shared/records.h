#pragma once
// Where results are kept, for the panels that write and read them.

#include <cstdint>
#include <filesystem>

namespace wide::gui {

struct Records {
  std::filesystem::path database;  ///< empty: there is no home to keep one in
  std::uint64_t revision = 0;      ///< grows when something was stored, so that others read anew
};

}  // namespace wide::gui
