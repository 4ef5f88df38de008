#include "gui/commands.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <stdexcept>
#include <utility>

namespace wide::gui {
namespace {

constexpr int kNoMatch = std::numeric_limits<int>::max();

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// How far apart the letters of `query` stand in `text`; letters at the start of words cost less.
int distance(std::string_view text, std::string_view query) {
  int cost = 0;
  std::size_t at = 0, last = std::string_view::npos;
  for (const char wanted : query) {
    if (wanted == ' ') continue;
    while (at < text.size() && lower(text[at]) != lower(wanted)) ++at;
    if (at == text.size()) return kNoMatch;
    const bool begins_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '.';
    if (last == std::string_view::npos) {
      cost += begins_word ? 0 : 2 + static_cast<int>(at);
    } else if (at != last + 1) {
      cost += (begins_word ? 1 : 3) + static_cast<int>(at - last);
    }
    last = at++;
  }
  return cost;
}

}  // namespace

void Commands::add(Command command) {
  if (find(command.id)) throw std::logic_error("the command " + command.id + " is there already");
  commands_.push_back(std::move(command));
}

const Command* Commands::find(std::string_view id) const {
  const auto found =
      std::find_if(commands_.begin(), commands_.end(), [&](const Command& one) { return one.id == id; });
  return found == commands_.end() ? nullptr : &*found;
}

std::string Commands::refusal(std::string_view id) const {
  const auto* command = find(id);
  if (!command) return std::string("no command is called ").append(id);
  return command->refuse ? command->refuse() : std::string();
}

std::string Commands::run(std::string_view id, const std::string& argument) {
  auto reason = refusal(id);
  if (!reason.empty()) return reason;
  const auto command = *find(id);  // a copy: a command may add commands
  try {
    command.run(argument);
  } catch (const std::exception& error) {
    if (failed) failed(command.id, error.what());
    return error.what();
  }
  if (ran) ran(command.id, argument);
  return {};
}

std::vector<const Command*> search(const Commands& commands, std::string_view query) {
  std::vector<std::pair<int, const Command*>> found;
  for (const auto& command : commands.all()) {
    const int by_id = distance(command.id, query);
    const int by_words = command.words.empty() ? kNoMatch : distance(command.words, query);
    int cost = std::min(distance(command.title, query), by_id == kNoMatch ? kNoMatch : by_id + 5);
    cost = std::min(cost, by_words == kNoMatch ? kNoMatch : by_words + 2);
    if (cost == kNoMatch) continue;
    // What cannot run now comes behind all that can.
    constexpr int kBehind = 1'000'000;
    const bool behind = !query.empty() && command.refuse && !command.refuse().empty();
    found.emplace_back(behind ? cost + kBehind : cost, &command);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Command*> list;
  list.reserve(found.size());
  for (const auto& [cost, command] : found) list.push_back(command);
  return list;
}

}  // namespace wide::gui
