/** The engines on which what several gateways do with one store is tried. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startMariadb } from '../support/mariadb.ts'

export async function sqliteStore(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-pay-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return `sqlite:${folder}/gateway.db`
}

/** Each returns the address of an empty store. */
export const ENGINES: [name: string, url: (t: Test) => Promise<string>][] = [
  ['SQLite', sqliteStore],
  [
    'MariaDB',
    async t => {
      const server = await startMariadb()
      t.teardown(() => server.stop())
      // where fifty callbacks at once wait for each other, a busy machine takes longer than a provider would wait
      return `${server.url}?connect_ms=60000&query_ms=60000`
    },
  ],
]
