/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Intrusive doubly linked list: a struct list is both a head and a member.
 * A member that is on no list points to itself, so list_del() is idempotent.
 */
struct list {
	struct list *prev, *next;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_is_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

static inline void list_add_head(struct list *head, struct list *item)
{
	list_add_tail(head->next, item);
}

static inline void list_del(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/** list_pop - first member, taken off the list; NULL when empty. */
static inline struct list *list_pop(struct list *head)
{
	struct list *item = head->next;

	if (item == head)
		return NULL;
	list_del(item);
	return item;
}

#define list_first(head, type, member) container_of((head)->next, type, member)

/* The body may remove @it, because @tmp has the next member. */
#define list_for_each_safe(it, tmp, head)                                                          \
	for (struct list *it = (head)->next, *tmp = it->next; it != (head);                        \
	     it = tmp, tmp = it->next)

#endif
