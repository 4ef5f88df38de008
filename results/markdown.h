#pragma once
// Text from files and users made fit for Markdown as GitHub shows it.

#include <string>
#include <string_view>

namespace wide::results {

/// `text` on one line with everything escaped that Markdown or HTML would take for markup; unsafe characters
/// are taken out, long text is cut.
std::string escaped_markdown(std::string_view text, std::size_t limit = 200);

}  // namespace wide::results
