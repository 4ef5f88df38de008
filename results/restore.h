#pragma once
// A backup put in the place of a database that is damaged, or that a failed migration or a slip left wrong.

#include <cstdint>
#include <filesystem>
#include <string>

namespace wide::results {

struct Restored {
  std::filesystem::path kept;  ///< where what was there lies now; empty: nothing was there
  std::int64_t runs = 0;       ///< that the database holds now
  std::int64_t cases = 0;
  std::string newest;  ///< when its newest run started, ISO 8601 in UTC; empty: it holds none
};

/// Puts a copy of `backup` at `target`. Every row of the backup is read first, and its sum checked: one that
/// is damaged itself is refused. What lay at `target`, damaged or not, is moved to the first free
/// "TARGET.replaced-K" with its log. Throws wide::Error{"store", …}, and then `target` is as it was, when
/// `target` is used by another process, and, unless `force`, when it is whole and holds what the backup
/// lacks, has a schema newer than ours, or is the SQLite file of another program.
Restored restore(const std::filesystem::path& backup, const std::filesystem::path& target,
                 bool force = false);

}  // namespace wide::results
