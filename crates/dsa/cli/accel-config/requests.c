/* Requests to the supervisor of the run, over its socket. */

#include "library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The two names that crates/dsa/run has as well. */
#define RUN_DIRECTORY "SKIPLINE_DSA_RUN"
#define SOCKET "requests"

/* Connects to the socket of the run; the descriptor, or the negative error number. */
static int connect_to_run(void) {
  const char *directory = getenv(RUN_DIRECTORY);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (directory == NULL) return -ENODEV;
  int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/" SOCKET, directory);
  if (length < 0 || (size_t)length >= sizeof address.sun_path) return -ENAMETOOLONG;
  int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection < 0) return -errno;
  if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
    close(connection);
    return -ENODEV;
  }
  return connection;
}

int send_request(const char *request, char *text, size_t bytes) {
  char answer[2 * TEXT_BYTES];
  int32_t error;
  int connection = connect_to_run();
  if (connection < 0) return connection;
  ssize_t length = -1;
  if (send(connection, request, strlen(request), MSG_NOSIGNAL) >= 0) {
    do {
      length = recv(connection, answer, sizeof answer, 0);
    } while (length < 0 && errno == EINTR);
  }
  close(connection);
  if (length < (ssize_t)sizeof error) return -ENODEV;
  memcpy(&error, answer, sizeof error);
  if (error != 0) return -error;
  if (text == NULL) return 0;
  length -= (ssize_t)sizeof error;
  if (length > 0 && answer[sizeof error + length - 1] == '\n') length--;
  if ((size_t)length >= bytes) return -ENAMETOOLONG;
  memcpy(text, answer + sizeof error, (size_t)length);
  text[length] = '\0';
  return 0;
}

int read_text(const struct node *node, const char *attribute, char *text, size_t bytes) {
  char request[128];
  snprintf(request, sizeof request, "read %s %s", node->name, attribute);
  return send_request(request, text, bytes);
}

long long read_number(const struct node *node, const char *attribute, long long fallback) {
  char text[TEXT_BYTES];
  if (read_text(node, attribute, text, sizeof text) != 0) return fallback;
  /* Capabilities have all 64 bits. */
  return text[0] == '-' ? strtoll(text, NULL, 0) : (long long)strtoull(text, NULL, 0);
}

int write_text(const char *function, const struct node *node, const char *attribute,
               const char *text) {
  char request[TEXT_BYTES + 128];
  int length = snprintf(request, sizeof request, "write %s %s\n%s", node->name, attribute, text);
  int error = (size_t)length < sizeof request ? send_request(request, NULL, 0) : -EINVAL;
  if (error != 0 && strncmp(node->name, "dsa", 3) == 0) {
    log_error(node->ctx, function, "%s: write failed: %s\n", node->name, strerror(-error));
  } else if (error != 0) {
    log_error(node->ctx, function, "%s: %s attribute write failed: %s\n", node->name, attribute,
              strerror(-error));
  }
  return error;
}

int write_number(const char *function, const struct node *node, const char *attribute,
                 long long value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", value);
  return write_text(function, node, attribute, text);
}
