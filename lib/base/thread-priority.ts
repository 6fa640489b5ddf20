/**
 * Lowers the priority of a worker thread, so that the processor goes to the thread that relays requests; not so far that a busy
 * machine would never come to it. Only Linux has priorities of single threads; elsewhere nothing happens.
 */
import { readlinkSync } from 'node:fs'
import os from 'node:os'
import { isMainThread } from 'node:worker_threads'

/** A link to the folder of the thread that reads it: `PID/task/TID`. */
const OWN_FOLDER = '/proc/thread-self'

/** Is called in the thread itself. */
export function lowerPriority(): void {
  if (isMainThread) return
  try {
    const thread = Number(readlinkSync(OWN_FOLDER).split('/').at(-1))
    os.setPriority(thread, os.constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // another system, or one that forbids it: the thread works with the priority that it has
  }
}
