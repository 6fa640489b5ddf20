/** Bench of lib/access/keys.ts: finds the owner of a key that is in memory. */
import { deepEqual, ok } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type * as KeysModule from '../../lib/access/keys.ts'
import type * as ClockModule from '../../lib/base/clock.ts'
import { withSeed } from '../../test/support/random.ts'
import { memoryStore, newKey, SETUP, wellStore } from '../../test/support/store.ts'
import type { Bench, Case } from './bench.ts'

const KEYS = 500

export const bench: Bench = async (lib, seed) => {
  const { KeyCache } = await lib<typeof KeysModule>('access/keys.ts')
  const { systemClock } = await lib<typeof ClockModule>('base/clock.ts')
  const store = await memoryStore()
  const account = await store.accounts.create({ name: 'a', groups: ['default'] }, SETUP)
  const random = withSeed(seed)
  const secrets = Array.from(
    { length: KEYS },
    () => `sk-${random.int(1e14, 9e14).toString(36)}${random.int(1e14, 9e14)}`,
  )
  const ids = new Map<string, number>()
  for (const secret of secrets) {
    const hash = createHash('sha256').update(secret).digest('hex')
    ids.set(secret, (await store.keys.create(newKey(account.id, { hash, name: secret }), SETUP)).id)
  }
  const keys = new KeyCache({ store, clock: systemClock, health: wellStore(systemClock) })
  const invented = secrets.map(secret => `${secret}0`)
  for (const secret of [...secrets, ...invented]) await keys.find(secret)
  const subject = (name: string, asked: readonly string[]): Case => {
    const found = (secret: string) => {
      const entry = keys.find(secret)
      ok(!(entry instanceof Promise), 'not in memory')
      return entry?.key.id
    }
    let next = 0
    return {
      name,
      check: () =>
        deepEqual(
          asked.map(found),
          asked.map(secret => ids.get(secret)),
        ),
      run: () => found(asked[next++ % KEYS] as string) ?? 0,
    }
  }
  return [{ ...subject('known', secrets), close: () => store.close() }, subject('invented', invented)]
}
