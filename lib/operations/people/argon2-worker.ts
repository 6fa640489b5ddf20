/** The thread in which passwords are hashed. A hash keeps a processor busy for long, and gives way to requests here. */
import { type Argon2Parameters, argon2Sync } from 'node:crypto'
import { lowerPriority, serve } from '../../base/worker-thread.ts'

lowerPriority()

serve((parameters: Argon2Parameters) => new Uint8Array(argon2Sync('argon2id', parameters)))
