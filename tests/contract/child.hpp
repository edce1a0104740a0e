// Runs something that must end the process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace contract {

struct Ended {
  bool by_abort;
  std::string stderr_text;
};

/// Calls `body()` in a child process, and tells how that ended and what it said.
template <class Body>
Ended run_in_child(const Body& body) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(2);
  const pid_t child = fork();
  if (child < 0) std::exit(2);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(0);
  }
  close(ends[1]);
  Ended ended{false, {}};
  char buffer[512];
  for (ssize_t size = 0; (size = read(ends[0], buffer, sizeof buffer)) > 0;) {
    ended.stderr_text.append(buffer, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ended.by_abort = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return ended;
}

}  // namespace contract
