/** The thread in which passwords are hashed. A hash keeps a processor busy for long, and gives way to requests here. */
import { type Argon2Parameters, argon2Sync } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { lowerPriority } from '../../base/thread-priority.ts'
import type { Argon2Answer } from './argon2-thread.ts'

lowerPriority()

parentPort?.on('message', (parameters: Argon2Parameters) => {
  const answer: Argon2Answer = {}
  try {
    answer.key = new Uint8Array(argon2Sync('argon2id', parameters))
  } catch (error) {
    answer.error = (error as Error).message // of parameters only, which tell nothing of the password
  }
  parentPort?.postMessage(answer)
})
