/** The console's API: its operations, put together with what recognises callers. */
import { Api } from '../api/api.ts'
import type { Identities } from '../api/identity.ts'
import type { ConsoleDeps } from './api/deps.ts'
import { OPERATIONS } from './api/rows.ts'
import type { ConsoleParts } from './parts.ts'

const ROOT = '/console'

export function createApi({ deps, ids, ipOf, count }: ConsoleParts): Api<ConsoleDeps> {
  const { clock, log, config } = deps
  const site = () => config().public
  return new Api({ root: ROOT, operations: OPERATIONS, deps, identities: NOBODY, clock, log, ids, site, ipOf, count })
}

/** Nobody can sign in yet. */
const NOBODY: Identities = {
  bySession: async () => null,
  byToken: async () => null,
  roleIn: async () => null,
}
