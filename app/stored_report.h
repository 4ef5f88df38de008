#pragma once
// A stored run in any format of results/export.h, with all that the database knows of it: what command line
// and window both write.

#include <cstdint>
#include <string>

#include "results/store.h"

namespace wide::app {

/// JSON has the summary and names captures; HTML has trends of its subjects and, where it was captured, what
/// holds the speed-up back. Throws wide::Error for a format or a run that there is not.
std::string stored_report(const results::Store& store, std::int64_t run, const std::string& format);

}  // namespace wide::app
