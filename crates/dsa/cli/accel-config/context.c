/* The context, and its devices with their queues, groups and engines. */

#include "library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

EXPORT int accfg_new(struct accfg_ctx **ctx) {
  char names[2 * TEXT_BYTES];
  int error = send_request("names", names, sizeof names);
  if (error != 0) return error;
  struct accfg_ctx *made = calloc(1, sizeof *made);
  if (made == NULL) return -ENOMEM;
  made->references = 1;
  made->log_priority = LOG_ERR;
  *ctx = made;
  return 0;
}

EXPORT struct accfg_ctx *accfg_ref(struct accfg_ctx *ctx) {
  if (ctx != NULL) ctx->references++;
  return ctx;
}

#define FREE_ALL(type, first)                                        \
  for (struct type *own = (first), *next; own != NULL; own = next) { \
    next = own->next;                                                \
    free(own);                                                       \
  }

EXPORT struct accfg_ctx *accfg_unref(struct accfg_ctx *ctx) {
  if (ctx == NULL || --ctx->references > 0) return ctx;
  for (struct accfg_device *device = ctx->devices; device != NULL; device = device->next) {
    FREE_ALL(accfg_wq, device->queues)
    FREE_ALL(accfg_group, device->groups)
    FREE_ALL(accfg_engine, device->engines)
  }
  FREE_ALL(accfg_device, ctx->devices)
  free(ctx);
  return NULL;
}

EXPORT void accfg_set_log_fn(struct accfg_ctx *ctx, log_function *log) { ctx->log = log; }
EXPORT int accfg_get_log_priority(struct accfg_ctx *ctx) { return ctx->log_priority; }
EXPORT void accfg_set_log_priority(struct accfg_ctx *ctx, int priority) {
  ctx->log_priority = priority;
}

void log_error(struct accfg_ctx *ctx, const char *function, const char *format, ...) {
  va_list arguments;
  if (ctx->log_priority < LOG_ERR) return;
  va_start(arguments, format);
  if (ctx->log != NULL) {
    ctx->log(ctx, LOG_ERR, __FILE__, __LINE__, function, format, arguments);
  } else {
    fprintf(stderr, "libaccfg: %s: ", function);
    vfprintf(stderr, format, arguments);
  }
  va_end(arguments);
}

/* Appends a node to a list; without memory the calling function returns -ENOMEM. */
#define APPEND(type, first, from)              \
  struct type *made = calloc(1, sizeof *made); \
  if (made == NULL) return -ENOMEM;            \
  made->node = *(from);                        \
  struct type **end = &(first);                \
  while (*end != NULL) end = &(*end)->next;    \
  *end = made

static int add_device(struct accfg_ctx *ctx, const struct node *node) {
  APPEND(accfg_device, ctx->devices, node);
  made->node.device = made;
  return 0;
}

static int add_queue(struct accfg_device *device, const struct node *node) {
  APPEND(accfg_wq, device->queues, node);
  return 0;
}

static int add_group(struct accfg_device *device, const struct node *node) {
  APPEND(accfg_group, device->groups, node);
  return 0;
}

static int add_engine(struct accfg_device *device, const struct node *node) {
  APPEND(accfg_engine, device->engines, node);
  return 0;
}

EXPORT struct accfg_device *accfg_device_get_next(struct accfg_device *device) {
  return device->next;
}

static struct accfg_device *find_device(struct accfg_ctx *ctx, int id) {
  struct accfg_device *device = ctx->devices;
  while (device != NULL && device->node.id != id) device = device->next;
  return device;
}

static int add(struct accfg_ctx *ctx, const char *name) {
  struct node node = {.ctx = ctx};
  int device = 0;
  snprintf(node.name, sizeof node.name, "%s", name);
  if (sscanf(name, "dsa%d", &node.id) == 1) return add_device(ctx, &node);
  if (sscanf(name, "%*[a-z]%d.%d", &device, &node.id) != 2) return -EINVAL;
  /* The list names a device before its queues, groups and engines. */
  node.device = find_device(ctx, device);
  if (node.device == NULL) return -ENODEV;
  if (name[0] == 'w') return add_queue(node.device, &node);
  if (name[0] == 'g') return add_group(node.device, &node);
  return add_engine(node.device, &node);
}

int list_nodes(struct accfg_ctx *ctx) {
  char names[2 * TEXT_BYTES], *rest = NULL;
  if (ctx->is_listed) return 0;
  int error = send_request("names", names, sizeof names);
  if (error != 0) return error;
  ctx->is_listed = true;
  for (char *name = strtok_r(names, "\n", &rest); name != NULL;
       name = strtok_r(NULL, "\n", &rest)) {
    error = add(ctx, name);
    if (error != 0) return error;
  }
  return 0;
}

EXPORT struct accfg_device *accfg_device_get_first(struct accfg_ctx *ctx) {
  return list_nodes(ctx) == 0 ? ctx->devices : NULL;
}

EXPORT struct accfg_device *accfg_ctx_device_get_by_id(struct accfg_ctx *ctx, int id) {
  return list_nodes(ctx) == 0 ? find_device(ctx, id) : NULL;
}

EXPORT struct accfg_device *accfg_ctx_device_get_by_name(struct accfg_ctx *ctx, const char *name) {
  struct accfg_device *device = accfg_device_get_first(ctx);
  while (device != NULL && strcmp(device->node.name, name) != 0) device = device->next;
  return device;
}

/* Functions that queues, groups and engines have alike. */
#define CHILD_FUNCTIONS(type, word, list)                                                      \
  EXPORT struct type *type##_get_first(struct accfg_device *device) { return device->list; }   \
  EXPORT struct type *type##_get_next(struct type *own) { return own->next; }                  \
  EXPORT struct accfg_ctx *type##_get_ctx(struct type *own) { return own->node.ctx; }          \
  EXPORT struct accfg_device *type##_get_device(struct type *own) { return own->node.device; } \
  EXPORT int type##_get_id(struct type *own) { return own->node.id; }                          \
  EXPORT const char *type##_get_devname(struct type *own) { return own->node.name; }           \
  EXPORT struct type *accfg_device_##word##_get_by_id(struct accfg_device *device, int id) {   \
    struct type *own = device->list;                                                           \
    while (own != NULL && own->node.id != id) own = own->next;                                 \
    return own;                                                                                \
  }

CHILD_FUNCTIONS(accfg_wq, wq, queues)
CHILD_FUNCTIONS(accfg_group, group, groups)
CHILD_FUNCTIONS(accfg_engine, engine, engines)

EXPORT struct accfg_ctx *accfg_device_get_ctx(struct accfg_device *device) {
  return device->node.ctx;
}
EXPORT int accfg_device_get_id(struct accfg_device *device) { return device->node.id; }
EXPORT const char *accfg_device_get_devname(struct accfg_device *device) {
  return device->node.name;
}
EXPORT int accfg_group_get_device_id(struct accfg_group *group) {
  return group->node.device->node.id;
}

EXPORT struct accfg_group *accfg_wq_get_group(struct accfg_wq *wq) {
  return accfg_device_group_get_by_id(wq->node.device, (int)read_number(&wq->node, "group_id", -1));
}

EXPORT struct accfg_group *accfg_engine_get_group(struct accfg_engine *engine) {
  int id = (int)read_number(&engine->node, "group_id", -1);
  return accfg_device_group_get_by_id(engine->node.device, id);
}
