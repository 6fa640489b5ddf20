/** All calls of the console's API. Each resource has a file of its own with its rows. */
import type { Operation } from '../../api/operation.ts'
import { BILLING } from './billing.ts'
import type { ConsoleDeps } from './deps.ts'
import { OVERVIEW } from './overview.ts'
import { REQUESTS } from './requests.ts'
import { USAGE } from './usage.ts'

export const OPERATIONS: readonly Operation<ConsoleDeps>[] = [...OVERVIEW, ...USAGE, ...REQUESTS, ...BILLING]
