#pragma once
// What is set around a run and may change its times, for the record.

#include <filesystem>
#include <map>
#include <string>

namespace wide::app {

/// Environment variables of the libraries that measure (threads, allocators, devices), the CPU governor and
/// how many CPUs this process may use. Names never heard of are left out: the rest of the environment is
/// private.
std::map<std::string, std::string> environment(const std::filesystem::path& root = "/");

}  // namespace wide::app
