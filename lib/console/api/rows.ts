/** All calls of the console's API. Each resource has a file of its own with its rows. */
import type { Operation } from '../../api/operation.ts'
import type { ConsoleDeps } from './deps.ts'

export const OPERATIONS: readonly Operation<ConsoleDeps>[] = []
