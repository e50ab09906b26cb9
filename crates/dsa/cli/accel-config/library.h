/*
 * libaccel-config's functions over the requests of a run without namespaces.
 *
 * Source: the public header of libaccel-config 3.5.3 for types and signatures, its behaviour in a
 * run with namespaces for results (tests/all/without_namespaces.rs compares the two).
 */

#ifndef SKIPLINE_ACCEL_CONFIG_LIBRARY_H
#define SKIPLINE_ACCEL_CONFIG_LIBRARY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_BYTES 32
/* An attribute of sysfs has a page. */
#define TEXT_BYTES 4097

struct accfg_ctx;
struct accfg_device;

typedef void log_function(struct accfg_ctx *, int, const char *, int, const char *, const char *,
                          va_list);

/* The first member of devices, queues, groups and engines. */
struct node {
  char name[NAME_BYTES];
  int id;
  struct accfg_ctx *ctx;
  struct accfg_device *device;
};

struct accfg_group {
  struct node node;
  struct accfg_group *next;
};

struct accfg_engine {
  struct node node;
  struct accfg_engine *next;
};

struct accfg_wq {
  struct node node;
  struct accfg_wq *next;
  /* Texts that were returned; valid until the next call for the same text. */
  char type_name[TEXT_BYTES];
  char driver_name[TEXT_BYTES];
};

struct accfg_device {
  struct node node;
  struct accfg_device *next;
  struct accfg_wq *queues;
  struct accfg_group *groups;
  struct accfg_engine *engines;
  char status[256];
};

struct accfg_ctx {
  int references;
  int log_priority;
  log_function *log;
  bool is_listed;
  struct accfg_device *devices;
  unsigned int last_error;
  char last_error_text[256];
  const struct node *last_error_at;
};

/* Sends a request to the supervisor. Writes the text of the answer, without a newline at its end,
 * to `text`; 0, or the negative error number. */
int send_request(const char *request, char *text, size_t bytes);

/* Reads the text of a node's attribute; 0, or the negative error number. */
int read_text(const struct node *node, const char *attribute, char *text, size_t bytes);
/* Reads a node's attribute as a number; the fallback if it cannot be read. */
long long read_number(const struct node *node, const char *attribute, long long fallback);
/* Write an attribute for a function of the library, which the error message names; 0, or the
 * negative error number. */
int write_text(const char *function, const struct node *node, const char *attribute,
               const char *text);
int write_number(const char *function, const struct node *node, const char *attribute,
                 long long value);

/* Logs an error by the context's function, or on standard error. */
void log_error(struct accfg_ctx *ctx, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Lists the nodes of a context, the first time only; 0, or the negative error number. */
int list_nodes(struct accfg_ctx *ctx);

#define EXPORT __attribute__((visibility("default")))

#endif
