/**
 * One read of a socket may hold many small chunks, a stream's events for instance. They are looked at, metered and written
 * as one: what an upstream sent together goes on together, at the end of the very tick, and costs once.
 */
export interface Gathered {
  /** Takes what has come since the last time. Never throws. */
  flush(): void
}

let waiting: Gathered[] = []

function flushAll(): void {
  const due = waiting
  waiting = []
  for (const one of due) one.flush()
}

/** `flush` is called after what is running now, before anything else is read. */
export function flushSoon(one: Gathered): void {
  if (waiting.push(one) === 1) queueMicrotask(flushAll)
}
