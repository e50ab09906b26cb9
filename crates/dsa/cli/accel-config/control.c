/* Enables and disables devices and queues, and reports errors. */

#include "library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int accfg_device_get_clients(struct accfg_device *device);
unsigned int accfg_device_get_cmd_status(struct accfg_device *device);
int accfg_device_get_state(struct accfg_device *device);
int accfg_wq_get_clients(struct accfg_wq *wq);
int accfg_wq_is_enabled(struct accfg_wq *wq);

/* Writes the meaning of a code of cmd_status to `text`. */
static void describe_status(unsigned int code, char *text, size_t bytes) {
  char request[32];
  snprintf(request, sizeof request, "status %u", code);
  if (send_request(request, text, bytes) != 0) text[0] = '\0';
}

/* Binds a node to a driver, or unbinds it; notes the code of a refusal in the context. */
static int change_binding(const struct node *node, const char *request, const char *driver) {
  char text[TEXT_BYTES + 64];
  snprintf(text, sizeof text, "%s %s %s", request, driver, node->name);
  int error = send_request(text, NULL, 0);
  struct accfg_ctx *ctx = node->ctx;
  if (error != 0) {
    ctx->last_error = accfg_device_get_cmd_status(node->device);
    describe_status(ctx->last_error, ctx->last_error_text, sizeof ctx->last_error_text);
    ctx->last_error_at = node;
  }
  return error;
}

/* Writes the driver that a node is bound to to `driver`; 0, or the negative error number. */
static int bound_driver(const struct node *node, char *driver, size_t bytes) {
  char text[64];
  snprintf(text, sizeof text, "bound %s", node->name);
  return send_request(text, driver, bytes);
}

EXPORT int accfg_device_enable(struct accfg_device *device) {
  return accfg_device_get_state(device) == 1 ? 0 : change_binding(&device->node, "bind", "idxd");
}

EXPORT int accfg_device_disable(struct accfg_device *device, bool force) {
  if (accfg_device_get_state(device) != 1) return 0;
  if (!force && accfg_device_get_clients(device) > 0) return -EBUSY;
  return change_binding(&device->node, "unbind", "idxd");
}

EXPORT int accfg_wq_driver_name_validate(struct accfg_wq *wq, const char *name) {
  static const char *const drivers[] = {"user", "dmaengine", "idxd", "dsa"};
  (void)wq;
  for (size_t at = 0; at < sizeof drivers / sizeof *drivers; at++) {
    if (strcmp(drivers[at], name) == 0) return 1;
  }
  return 0;
}

EXPORT int accfg_wq_enable(struct accfg_wq *wq) {
  char driver[TEXT_BYTES];
  if (accfg_wq_is_enabled(wq)) return 0;
  if (accfg_device_get_state(wq->node.device) != 1) return -ENXIO;
  /* Where the kernel has no such attribute the compatibility form of its driver chooses by type. */
  if (read_text(&wq->node, "driver_name", driver, sizeof driver) != 0) {
    return change_binding(&wq->node, "bind", "dsa");
  }
  if (!accfg_wq_driver_name_validate(wq, driver)) {
    fprintf(stderr, "Invalid wq driver name \"%s\"\n", driver);
    return -EINVAL;
  }
  return change_binding(&wq->node, "bind", driver);
}

EXPORT int accfg_wq_disable(struct accfg_wq *wq, bool force) {
  char driver[NAME_BYTES];
  if (!accfg_wq_is_enabled(wq)) return 0;
  if (!force && accfg_wq_get_clients(wq) > 0) return -EBUSY;
  int error = bound_driver(&wq->node, driver, sizeof driver);
  return error == 0 ? change_binding(&wq->node, "unbind", driver) : error;
}

EXPORT const char *accfg_device_get_cmd_status_str(struct accfg_device *device) {
  describe_status(accfg_device_get_cmd_status(device), device->status, sizeof device->status);
  return device->status;
}

EXPORT unsigned int accfg_ctx_get_last_error(struct accfg_ctx *ctx) { return ctx->last_error; }
EXPORT const char *accfg_ctx_get_last_error_str(struct accfg_ctx *ctx) {
  return ctx->last_error_text;
}

/* The node of the last error, if its name has this beginning; else NULL. */
static void *last_error_at(struct accfg_ctx *ctx, const char *begin) {
  const struct node *node = ctx->last_error_at;
  bool has_type = node != NULL && strncmp(node->name, begin, strlen(begin)) == 0;
  return has_type ? (void *)node : NULL;
}

EXPORT struct accfg_device *accfg_ctx_get_last_error_device(struct accfg_ctx *ctx) {
  return ctx->last_error_at != NULL ? ctx->last_error_at->device : NULL;
}
EXPORT struct accfg_wq *accfg_ctx_get_last_error_wq(struct accfg_ctx *ctx) {
  return last_error_at(ctx, "wq");
}
EXPORT struct accfg_group *accfg_ctx_get_last_error_group(struct accfg_ctx *ctx) {
  return last_error_at(ctx, "group");
}
EXPORT struct accfg_engine *accfg_ctx_get_last_error_engine(struct accfg_ctx *ctx) {
  return last_error_at(ctx, "engine");
}

/* The beginnings of the names of devices; programs read this list itself. */
EXPORT char *accfg_basenames[] = {"dsa", "iax", NULL};

EXPORT int accfg_device_type_validate(const char *name) {
  for (char **base = accfg_basenames; *base != NULL; base++) {
    if (strncmp(name, *base, strlen(*base)) == 0) return 1;
  }
  return 0;
}

/* All devices of a run are DSA. */
EXPORT int accfg_device_get_type(struct accfg_device *device) {
  (void)device;
  return 0;
}

EXPORT char *accfg_device_get_type_str(struct accfg_device *device) {
  static char name[] = "dsa";
  (void)device;
  return name;
}

/* 0, or a negative number if the priority is out of range. */
EXPORT int accfg_wq_priority_boundary(struct accfg_wq *wq) {
  return read_number(&wq->node, "priority", 0) <= 15 ? 0 : -EINVAL;
}

/* 0, or a negative number if the queues together have more entries than the device. */
EXPORT int accfg_wq_size_boundary(struct accfg_device *device, int count) {
  long long entries = 0;
  for (struct accfg_wq *wq = device->queues; wq != NULL && wq->node.id < count; wq = wq->next) {
    entries += read_number(&wq->node, "size", 0);
  }
  return entries <= read_number(&device->node, "max_work_queues_size", 0) ? 0 : -EINVAL;
}

EXPORT int accfg_wq_get_user_dev_path(struct accfg_wq *wq, char *path, size_t bytes) {
  /* A queue that is not enabled for programs has no file. */
  if (read_number(&wq->node, "cdev_minor", -1) < 0) return -ENOENT;
  int length = snprintf(path, bytes, "/dev/dsa/%s", wq->node.name);
  return length >= 0 && (size_t)length < bytes ? 0 : -ERANGE;
}
