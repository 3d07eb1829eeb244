// SPDX-License-Identifier: BSL-1.0
#include "found_so_far.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace tidemark::verify::runner {
namespace {

/// Of the program's file: so one that was linked anew and is the same goes on.
std::uint64_t hash_of(std::istream& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  char block[4096];
  do {
    bytes.read(block, sizeof block);
    for (std::streamsize i = 0; i < bytes.gcount(); ++i) {
      hash ^= static_cast<unsigned char>(block[i]);
      hash *= 0x100000001b3;
    }
  } while (bytes);
  return hash;
}

constexpr const char* first_words = "tidemark audit 1, ";

std::string header_of(const std::vector<const entry*>& checks, const limits& allowed) {
  std::ifstream program{"/proc/self/exe", std::ios::binary};
  std::stringstream names;
  for (const entry* each : checks) names << each->name << '\n';
  std::ostringstream header;
  header << first_words << "program " << std::hex << hash_of(program) << ", checks " << hash_of(names) << std::dec
         << ", seconds " << allowed.seconds << ", steps " << allowed.most_steps;
  return header.str();
}

/// A field of a line: without tabs and ends of lines.
std::string field_of(const std::string& text) {
  std::string field;
  for (const char c : text) {
    const char* const at = c == '\t' ? "\\t" : (c == '\n' ? "\\n" : (c == '\\' ? "\\\\" : nullptr));
    if (at != nullptr) {
      field += at;
    } else {
      field += c;
    }
  }
  return field;
}
std::string text_of(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool is_escaped = field[i] == '\\' && i + 1 < field.size();
    if (is_escaped) ++i;
    text += is_escaped && field[i] == 't' ? '\t' : (is_escaped && field[i] == 'n' ? '\n' : field[i]);
  }
  return text;
}

std::string name_of_step(const audited_site& site, const audited_step& step) {
  const source_position& at = site.is.at;
  return field_of(std::string{at.file} + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + " " +
                  name_of(site.is.order) + " " + name_of(site.is.failure) + " | " + step.what);
}

}  // namespace

std::string found_so_far::open(const std::string& path, const std::vector<const entry*>& checks,
                               const limits& allowed) {
  path_ = path;
  header_ = header_of(checks, allowed);
  std::ifstream file{path};
  std::string header;
  const bool is_there = static_cast<bool>(std::getline(file, header));
  if (is_there && header == header_) {
    read_steps(file);
    std::cerr << "tidemark: goes on with " << steps_.size() << " weakenings of " << path << "\n";
  } else if (is_there && !header.starts_with(first_words)) {
    return "'" + path + "' is not written by --resume, and is left alone";
  } else if (is_there) {
    std::cerr << "tidemark: " << path << " is of another program, of other checks or of other limits: begins anew\n";
  }
  return write() ? "" : "cannot write '" + path + "'";
}

void found_so_far::read_steps(std::istream& file) {
  for (std::string line; std::getline(file, line);) read_line(line);
}

void found_so_far::read_line(const std::string& line) {
  const std::size_t tab = line.find('\t');
  if (tab != std::string::npos) steps_[line.substr(0, tab)] = line.substr(tab + 1);
}

bool found_so_far::write() const {
  const std::string next = path_ + ".new";
  std::ofstream file{next};
  file << header_ << "\n";
  for (const auto& [name, fields] : steps_) file << name << "\t" << fields << "\n";
  file.close();
  return !file.fail() && std::rename(next.c_str(), path_.c_str()) == 0;
}

bool found_so_far::recall(const audited_site& site, audited_step& step) const {
  const auto found = steps_.find(name_of_step(site, step));
  if (found == steps_.end()) return false;
  std::istringstream fields{found->second};
  std::string said;
  std::string executions;
  std::getline(fields, said, '\t');
  std::getline(fields, executions, '\t');
  for (std::string* each : {&step.check, &step.failure, &step.search, &step.reason}) {
    std::getline(fields, *each, '\t');
    *each = text_of(*each);
  }
  step.executions = std::strtoul(executions.c_str(), nullptr, 10);
  for (const verdict each : {verdict::needed, verdict::not_weakened, verdict::cut_off, verdict::not_needed}) {
    if (said == name_of(each)) step.said = each;
  }
  return true;
}

std::string found_so_far::line_of(const audited_site& site, const audited_step& step) {
  std::string line = name_of_step(site, step) + "\t" + name_of(step.said) + "\t" + std::to_string(step.executions);
  for (const std::string& each : {step.check, step.failure, step.search, step.reason}) line += "\t" + field_of(each);
  return line;
}

void found_so_far::keep_line(const std::string& line) {
  read_line(line);
  if (!path_.empty() && !write()) std::cerr << "tidemark: cannot write '" << path_ << "'\n";
}

void found_so_far::keep(const audited_site& site, const audited_step& step) { keep_line(line_of(site, step)); }

}  // namespace tidemark::verify::runner
