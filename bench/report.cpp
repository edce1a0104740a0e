// bench_report <folder of results> [<document>]
//
// Judges the figures by what the benchmarks of one run have measured, and prints them. Writes the
// document, and beside it a chart with the same name and the ending .svg.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "figures.hpp"

namespace {

using namespace rope_bench;

struct Measured {
  double median;      // ns, or what the program says
  std::string limit;  // the name of what it is compared with
  std::int64_t registered = 0;
};

struct Program {
  std::string title;
  std::map<std::string, std::string> context;
  std::vector<std::string> order;
  std::map<std::string, Measured> results;
};

using Programs = std::map<std::string, Program>;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "bench_report: %s\n", message.c_str());
  std::exit(1);
}

/// What Google Benchmark adds to the name where it has measured that.
constexpr std::string_view real_time = "/real_time";

double in_nanoseconds(const std::string& unit) {
  return unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : 1e9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string without_ending(std::string name, std::string_view ending) {
  if (name.size() > ending.size() && name.ends_with(ending)) {
    name.resize(name.size() - ending.size());
  }
  return name;
}

/// "Key cache" of "key_cache".
std::string spelt_out(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  if (name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

Program read_program(const std::filesystem::path& path) {
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.contains("benchmarks")) fail(path.string() + " has no results");
  Program program;
  const nlohmann::json context = json.value("context", nlohmann::json::object());
  for (const auto& [key, value] : context.items()) {
    program.context[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  program.title = program.context["title"];
  if (program.title.empty()) program.title = spelt_out(path.stem().string());
  std::map<std::string, std::vector<double>> times;
  for (const auto& one : json.at("benchmarks")) {
    if (one.value("run_type", "iteration") != "iteration") continue;
    if (one.contains("error_message")) fail(one.at("error_message").get<std::string>());
    const std::string full_name = one.at("name").get<std::string>();
    const std::string name = without_ending(full_name, real_time);
    if (!times.contains(name)) program.order.push_back(name);
    // Of one thread the processor's time, which other programs disturb less.
    const char* clock = name != full_name || !one.contains("cpu_time") ? "real_time" : "cpu_time";
    times[name].push_back(one.at(clock).get<double>() *
                          in_nanoseconds(one.value("time_unit", "ns")));
    program.results[name].limit = one.value("label", "");
    program.results[name].registered = one.value("family_index", std::int64_t{0});
    if (one.contains("bytes")) {
      program.results["size/" + name.substr(name.find('/') + 1)] = {one.at("bytes").get<double>(),
                                                                    "", 0};
    }
  }
  for (const auto& [name, all] : times) program.results[name].median = median(all);
  // They ran in any order.
  std::stable_sort(program.order.begin(), program.order.end(),
                   [&](const std::string& a, const std::string& b) {
                     return program.results[a].registered < program.results[b].registered;
                   });
  return program;
}

Programs read_programs(const std::filesystem::path& folder) {
  Programs programs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") {
      programs[entry.path().stem().string()] = read_program(entry.path());
    }
  }
  if (programs.empty()) fail("no results in " + folder.string());
  return programs;
}

/// Three significant digits.
std::string number(double value) {
  char text[32];
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string time_of(double nanoseconds) {
  if (nanoseconds < 999.5) return number(nanoseconds) + " ns";
  if (nanoseconds < 999.5e3) return number(nanoseconds / 1e3) + " us";
  if (nanoseconds < 999.5e6) return number(nanoseconds / 1e6) + " ms";
  return number(nanoseconds / 1e9) + " s";
}

/// What a figure came to.
struct Verdict {
  std::optional<double> measured;
  std::string worst;  // where several were compared, the one that counts

  bool reached(const Figure& figure) const { return measured && *measured <= figure.at_most; }
};

const Measured* find(const Program& program, const std::string& name) {
  const auto found = program.results.find(name);
  return found == program.results.end() ? nullptr : &found->second;
}

Verdict judge(const Figure& figure, const Programs& programs) {
  Verdict verdict;
  const auto program = programs.find(std::string(figure.program));
  if (program == programs.end()) return verdict;
  for (const Comparison& comparison : figure.comparisons) {
    const Measured* over = find(program->second, comparison.over);
    const Measured* under = find(program->second, comparison.under);
    if (over == nullptr || (under == nullptr && figure.kind != Kind::value)) return {};
    const double value = figure.kind == Kind::ratio        ? over->median / under->median
                         : figure.kind == Kind::difference ? over->median - under->median
                                                           : over->median;
    if (!verdict.measured || value / figure.unit_size > *verdict.measured) {
      verdict.measured = value / figure.unit_size;
      verdict.worst = figure.comparisons.size() > 1 ? comparison.over : "";
    }
  }
  return verdict;
}

std::string outcome(const Figure& figure, const Verdict& verdict) {
  return !verdict.measured ? "not measured" : verdict.reached(figure) ? "pass" : "FAIL";
}

std::string limit_of(const Figure& figure) {
  return number(figure.at_most) + " " + std::string(figure.unit);
}

void print_figures(const std::vector<Figure>& figures, const std::vector<Verdict>& verdicts) {
  std::size_t reached = 0;
  std::size_t measured = 0;
  std::string_view group;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& figure = figures[i];
    const Verdict& verdict = verdicts[i];
    if (figure.group != group) {
      group = figure.group;
      std::printf("\n%.*s\n", static_cast<int>(group.size()), group.data());
    }
    std::printf("  %-12s %8s  at most %-14s %.*s", outcome(figure, verdict).c_str(),
                verdict.measured ? number(*verdict.measured).c_str() : "-",
                limit_of(figure).c_str(), static_cast<int>(figure.work.size()), figure.work.data());
    if (!verdict.worst.empty()) std::printf("  [%s]", verdict.worst.c_str());
    std::printf("\n");
    if (verdict.reached(figure)) ++reached;
    if (verdict.measured) ++measured;
  }
  std::printf("\n%zu of %zu figures reached, %zu not measured\n", reached, figures.size(),
              figures.size() - measured);
}

// The document.

std::string context_of(const Programs& programs, const std::string& key) {
  for (const auto& [name, program] : programs) {
    const auto found = program.context.find(key);
    if (found != program.context.end() && !found->second.empty()) return found->second;
  }
  return "unknown";
}

/// "32 KiB L1, 512 KiB L2 ..."
std::string caches_of(const Programs& programs) {
  const nlohmann::json caches =
      nlohmann::json::parse(context_of(programs, "caches"), nullptr, false);
  std::ostringstream text;
  if (caches.is_array()) {
    for (const auto& cache : caches) {
      if (cache.value("type", "") == "Instruction") continue;
      text << (text.str().empty() ? "" : ", ") << cache.value("size", 0.0) / 1024 << " KiB L"
           << cache.value("level", 0);
    }
  }
  return text.str();
}

void write_conditions(std::ostream& out, const Programs& programs) {
  const std::string stream = context_of(programs, "stream_isa");
  out << "| | |\n| --- | --- |\n"
      << "| machine | " << context_of(programs, "cpu") << ", " << context_of(programs, "num_cpus")
      << " CPUs, data caches: " << caches_of(programs) << " |\n"
      << "| day | " << context_of(programs, "date").substr(0, 10) << " |\n"
      << "| compiler | " << context_of(programs, "compiler") << ", `"
      << context_of(programs, "flags") << "` |\n"
      << "| kernels chosen at run time | " << context_of(programs, "rope_isa") << " |\n"
      << "| vectors of the stream | " << stream << " |\n\n";
  if (stream != "AVX-512") {
    out << R"(The figures are meant for a machine with AVX-512. This one has none, so the stream uses the widest
vectors that there are.

)";
  }
}

void write_figures(std::ostream& out, const std::vector<Figure>& figures,
                   const std::vector<Verdict>& verdicts) {
  std::string_view group;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& figure = figures[i];
    const Verdict& verdict = verdicts[i];
    if (figure.group != group) {
      group = figure.group;
      out << "\n### " << group
          << "\n\n| work | at most | measured | |\n| --- | --- | --- | --- |\n";
    }
    out << "| " << figure.work << " | " << limit_of(figure) << " | "
        << (verdict.measured ? number(*verdict.measured) : "-");
    if (!verdict.worst.empty()) out << " (`" << verdict.worst << "`)";
    out << " | " << outcome(figure, verdict) << " |\n";
  }
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto known = tried().find(figures[i].work);
    if (known != tried().end() && verdicts[i].measured && !verdicts[i].reached(figures[i])) {
      out << "\n" << figures[i].work << ": " << known->second << "\n";
    }
  }
}

void write_results(std::ostream& out, const Programs& programs) {
  for (const auto& [name, program] : programs) {
    out << "\n### " << program.title << "\n\n| benchmark | time | ratio | to |\n"
        << "| --- | ---: | ---: | --- |\n";
    for (const std::string& result : program.order) {
      const Measured& measured = program.results.at(result);
      const bool is_code = result.ends_with(", code");
      out << "| `" << result << "` | "
          << (is_code ? number(measured.median / 1e3) + " KB" : time_of(measured.median)) << " | ";
      const Measured* limit = find(program, measured.limit);
      if (limit != nullptr) {
        out << number(measured.median / limit->median) << " | `" << measured.limit << "` |\n";
      } else {
        out << "| |\n";
      }
    }
  }
}

void write_document(const std::filesystem::path& path, const std::vector<Figure>& figures,
                    const std::vector<Verdict>& verdicts, const Programs& programs) {
  std::ofstream out(path);
  const std::string chart = path.stem().string() + ".svg";
  out << R"(# Performance

Written by `scripts/bench`, which measures all of it anew and judges the figures that the library is
held to.

)";
  write_conditions(out, programs);
  out << R"(Times are medians of repetitions that were interleaved with those of all other benchmarks of the
same program: of the processor's time, or by the clock where there are several threads. `stream` is a
pass `x *= c` in place over the same bytes with the widest vectors of the machine; `memcpy` and
`memset` are those of the C library. Nothing that reads and writes as much is much faster. Shapes are
tokens x heads x dims of a head. The data is warm: whatever fits a cache is in it. Results of all that
is compared were checked before it was timed. On a shared machine, expect ratios to differ by a tenth
from one run to the next.

![Times of a rotation in place, as multiples of the pass over the same bytes]()"
      << chart << ")\n\n## Figures\n";
  write_figures(out, figures, verdicts);
  out << "\n## All results\n";
  write_results(out, programs);
  if (!out) fail("cannot write " + path.string());
}

// The chart: horizontal bars on a logarithmic scale, a group for each shape.

struct Bar {
  std::string label;
  double ratio;
  const char* colour;
};

struct Group {
  std::string label;
  std::vector<Bar> bars;
};

/// What a chart line is made of: a benchmark of a program and what it is set against.
struct Series {
  const char* label;
  const char* program;
  const char* over;
  const char* under;
  const char* colour;
};

std::vector<Group> chart_groups(const Programs& programs) {
  // Colours that remain apart for people who see few.
  const std::vector<Series> series{
      {"rope, half-split", "eigen", "rope/half_split/", "stream/", "#0072b2"},
      {"rope, interleaved", "eigen", "rope/interleaved/", "stream/", "#56b4e9"},
      {"Eigen, half-split", "eigen", "Eigen/half_split/", "stream/", "#e69f00"},
      {"Eigen, half-split, -O3 -march=native", "eigen_native", "Eigen/half_split/", "stream/",
       "#e69f00"},
      {"Eigen complex, interleaved", "eigen", "Eigen/interleaved/", "stream/", "#f0e442"},
      {"Eigen complex, -O3 -march=native", "eigen_native", "Eigen/interleaved/", "stream/",
       "#f0e442"},
      {"LibTorch, Meta's style in place", "torch", "LibTorch, Meta in place/interleaved/",
       "stream/", "#cc79a7"},
      {"LibTorch, Hugging Face's style, a new tensor", "torch",
       "LibTorch, Hugging Face/half_split/", "stream/", "#d55e00"},
      {"the obvious loop, half-split", "rotate", "loop/half_split/", "stream/", "#999999"},
  };
  std::vector<Group> groups;
  for (const auto& [shape, label] : std::vector<std::pair<std::string, std::string>>{
           {"1x32x128", "1 token"}, {"512x32x128", "512 tokens"}, {"4096x32x128", "4096 tokens"}}) {
    Group group{label + ", 32 heads of 128", {}};
    for (const Series& one : series) {
      const auto program = programs.find(one.program);
      if (program == programs.end()) continue;
      const Measured* over = find(program->second, one.over + shape);
      const Measured* under = find(program->second, one.under + shape);
      if (over == nullptr || under == nullptr) continue;
      group.bars.push_back({one.label, over->median / under->median, one.colour});
    }
    if (!group.bars.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

void write_chart(const std::filesystem::path& path, const Programs& programs) {
  const std::vector<Group> groups = chart_groups(programs);
  double most = 10;
  int lines = 0;
  for (const Group& group : groups) {
    lines += 2 + static_cast<int>(group.bars.size());
    for (const Bar& bar : group.bars) most = std::max(most, bar.ratio);
  }
  constexpr int left = 260;
  constexpr int width = 440;
  constexpr int line = 18;
  constexpr double least = 0.5;
  const double end = std::pow(10.0, std::ceil(std::log10(most)));
  const auto x = [&](double ratio) {
    const double share = std::log(std::max(ratio, least) / least) / std::log(end / least);
    return left + width * share;
  };
  const int top = 44;
  const int bottom = top + lines * line;
  std::ofstream out(path);
  out << R"(<svg xmlns="http://www.w3.org/2000/svg" width="780" height=")" << bottom + 30
      << R"(" font-family="sans-serif" font-size="12">)" << '\n'
      << R"(<rect width="100%" height="100%" fill="white"/>)" << '\n'
      << R"(<text x="10" y="20" font-size="14">Time of a rotation, times a pass in place over the )"
      << R"(same bytes (less is better)</text>)" << '\n'
      << R"(<text x="10" y="38" fill="#555">)" << context_of(programs, "cpu") << ", "
      << context_of(programs, "rope_isa") << ", " << context_of(programs, "compiler")
      << "</text>\n";
  for (double mark = 1; mark <= end * 1.001; mark *= 10) {
    out << "<line x1=\"" << number(x(mark)) << "\" y1=\"" << top << "\" x2=\"" << number(x(mark))
        << "\" y2=\"" << bottom << "\" stroke=\"" << (mark == 1 ? "#000" : "#ccc") << "\"/>\n"
        << "<text x=\"" << number(x(mark)) << "\" y=\"" << bottom + 16
        << "\" text-anchor=\"middle\">" << mark << "</text>\n";
  }
  int y = top;
  for (const Group& group : groups) {
    out << "<text x=\"10\" y=\"" << y + line - 4 << "\" font-weight=\"bold\">" << group.label
        << "</text>\n";
    y += line;
    for (const Bar& bar : group.bars) {
      out << "<text x=\"" << left - 8 << "\" y=\"" << y + line - 5 << "\" text-anchor=\"end\">"
          << bar.label << "</text>\n<rect x=\"" << left << "\" y=\"" << y + 3 << "\" width=\""
          << number(std::max(1.0, x(bar.ratio) - left)) << "\" height=\"" << line - 5
          << "\" fill=\"" << bar.colour << "\"/>\n<text x=\"" << number(x(bar.ratio) + 5)
          << "\" y=\"" << y + line - 5 << "\">" << number(bar.ratio) << "</text>\n";
      y += line;
    }
    y += line;
  }
  out << "</svg>\n";
  if (!out) fail("cannot write " + path.string());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) fail("usage: bench_report <folder of results> [<document>]");
  const Programs programs = read_programs(argv[1]);
  const std::vector<Figure> all = figures();
  std::vector<Verdict> verdicts;
  for (const Figure& figure : all) verdicts.push_back(judge(figure, programs));
  print_figures(all, verdicts);
  if (argc == 3) {
    std::filesystem::path document = argv[2];
    write_document(document, all, verdicts, programs);
    write_chart(document.replace_extension(".svg"), programs);
  }
}
