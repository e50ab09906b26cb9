/* Attributes: each read is a request to the supervisor, which has the driver's state. */

#include "library.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NUMBER(result, type, word, fallback)                 \
  EXPORT result type##_get_##word(struct type *own) {        \
    return (result)read_number(&own->node, #word, fallback); \
  }
#define SETTABLE(result, type, word, fallback)                \
  NUMBER(result, type, word, fallback)                        \
  EXPORT int type##_set_##word(struct type *own, int value) { \
    return write_number(__func__, &own->node, #word, value);  \
  }

NUMBER(unsigned int, accfg_device, version, 0)
NUMBER(uint64_t, accfg_device, gen_cap, 0)
NUMBER(unsigned int, accfg_device, max_groups, 0)
NUMBER(unsigned int, accfg_device, max_work_queues, 0)
NUMBER(unsigned int, accfg_device, max_engines, 0)
NUMBER(unsigned int, accfg_device, max_work_queues_size, 0)
NUMBER(int, accfg_device, numa_node, -1)
NUMBER(unsigned int, accfg_device, ims_size, -1)
NUMBER(unsigned int, accfg_device, compl_size, -1)
NUMBER(unsigned int, accfg_device, max_batch_size, 0)
NUMBER(uint64_t, accfg_device, max_transfer_size, 0)
NUMBER(unsigned int, accfg_device, max_read_buffers, 0)
NUMBER(unsigned int, accfg_device, configurable, 0)
NUMBER(bool, accfg_device, pasid_enabled, false)
NUMBER(unsigned int, accfg_device, cdev_major, 0)
NUMBER(int, accfg_device, clients, -EINVAL)
NUMBER(unsigned int, accfg_device, cmd_status, 0)
SETTABLE(unsigned int, accfg_device, read_buffer_limit, 0)

SETTABLE(int, accfg_group, read_buffers_reserved, -EINVAL)
SETTABLE(int, accfg_group, read_buffers_allowed, -EINVAL)
SETTABLE(int, accfg_group, use_read_buffer_limit, -EINVAL)
SETTABLE(int, accfg_group, traffic_class_a, -EINVAL)
SETTABLE(int, accfg_group, traffic_class_b, -EINVAL)

SETTABLE(uint64_t, accfg_wq, size, 0)
SETTABLE(int, accfg_wq, group_id, -1)
SETTABLE(int, accfg_wq, priority, -EINVAL)
SETTABLE(int, accfg_wq, threshold, -EINVAL)
SETTABLE(int, accfg_wq, block_on_fault, -EINVAL)
SETTABLE(int, accfg_wq, ats_disable, -EINVAL)
SETTABLE(unsigned int, accfg_wq, max_batch_size, 0)
NUMBER(uint64_t, accfg_wq, max_transfer_size, 0)
NUMBER(unsigned int, accfg_wq, priv, 0)
NUMBER(int, accfg_wq, cdev_minor, -ENXIO)
NUMBER(int, accfg_wq, clients, -EINVAL)
NUMBER(int, accfg_wq, occupancy, -EOPNOTSUPP)

SETTABLE(int, accfg_engine, group_id, -1)

EXPORT int accfg_wq_set_max_transfer_size(struct accfg_wq *wq, uint64_t value) {
  return write_number(__func__, &wq->node, "max_transfer_size", (long long)value);
}

/* Reads eight words of eight digits, the most significant first, as four words of 64 bits, the
 * least significant first; 0, or the negative error number. */
static int read_words(const struct node *node, const char *attribute, uint64_t words[4]) {
  char text[TEXT_BYTES];
  unsigned int halves[8];
  int error = read_text(node, attribute, text, sizeof text);
  if (error != 0) return error;
  int found = sscanf(text, "%8x,%8x,%8x,%8x,%8x,%8x,%8x,%8x", &halves[0], &halves[1], &halves[2],
                     &halves[3], &halves[4], &halves[5], &halves[6], &halves[7]);
  if (found != 8) return -EIO;
  for (int word = 0; word < 4; word++) {
    words[word] = (uint64_t)halves[6 - 2 * word] << 32 | halves[7 - 2 * word];
  }
  return 0;
}

struct accfg_error {
  uint64_t val[4];
};

struct accfg_op_cap {
  uint64_t bits[4];
};

EXPORT int accfg_device_get_errors(struct accfg_device *device, struct accfg_error *error) {
  return read_words(&device->node, "errors", error->val);
}

EXPORT int accfg_device_get_op_cap(struct accfg_device *device, struct accfg_op_cap *capabilities) {
  return read_words(&device->node, "op_cap", capabilities->bits);
}

/* The index of an attribute's text among its possible words; the fallback if it is none of them. */
static int read_choice(const struct node *node, const char *attribute, const char *const words[],
                       int count, int fallback) {
  char text[TEXT_BYTES];
  if (read_text(node, attribute, text, sizeof text) != 0) return fallback;
  for (int index = 0; index < count; index++) {
    if (strcmp(text, words[index]) == 0) return index;
  }
  return fallback;
}

static const char *const states[] = {"disabled", "enabled", "quiescing", "locked"};
static const char *const modes[] = {"shared", "dedicated"};
static const char *const types[] = {"none", "kernel", "user"};

EXPORT int accfg_device_get_state(struct accfg_device *device) {
  return read_choice(&device->node, "state", states, 2, -1);
}

EXPORT int accfg_device_is_active(struct accfg_device *device) {
  return accfg_device_get_state(device) == 1;
}

EXPORT int accfg_wq_get_state(struct accfg_wq *wq) {
  return read_choice(&wq->node, "state", states, 4, -1);
}

EXPORT int accfg_wq_is_enabled(struct accfg_wq *wq) { return accfg_wq_get_state(wq) == 1; }

EXPORT int accfg_wq_get_mode(struct accfg_wq *wq) {
  return read_choice(&wq->node, "mode", modes, 2, 2);
}

EXPORT int accfg_wq_get_type(struct accfg_wq *wq) {
  return read_choice(&wq->node, "type", types, 3, 0);
}

EXPORT int accfg_wq_set_str_mode(struct accfg_wq *wq, const char *text) {
  return write_text(__func__, &wq->node, "mode", text);
}

EXPORT int accfg_wq_set_mode(struct accfg_wq *wq, unsigned int mode) {
  return mode < 2 ? write_text(__func__, &wq->node, "mode", modes[mode]) : -EINVAL;
}

EXPORT int accfg_wq_set_str_type(struct accfg_wq *wq, const char *text) {
  return write_text(__func__, &wq->node, "type", text);
}

EXPORT int accfg_wq_set_str_name(struct accfg_wq *wq, const char *text) {
  return write_text(__func__, &wq->node, "name", text);
}

EXPORT int accfg_wq_set_str_driver_name(struct accfg_wq *wq, const char *text) {
  return write_text(__func__, &wq->node, "driver_name", text);
}

EXPORT const char *accfg_wq_get_type_name(struct accfg_wq *wq) {
  int error = read_text(&wq->node, "name", wq->type_name, sizeof wq->type_name);
  return error == 0 ? wq->type_name : NULL;
}

EXPORT const char *accfg_wq_get_driver_name(struct accfg_wq *wq) {
  int error = read_text(&wq->node, "driver_name", wq->driver_name, sizeof wq->driver_name);
  return error == 0 ? wq->driver_name : NULL;
}
