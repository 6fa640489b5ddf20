/** `npm start`: everything needed for a first request on a fresh checkout, with the simulator where no upstream is known. */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Simulator, simulate } from '../simulator/main.ts'
import { openStore } from '../store/open.ts'
import type { NewKey, Store } from '../store/store.ts'
import { loadConfig } from '../terms/config.ts'
import { hashOf, hintOf } from '../terms/key-secret.ts'
import { ConfigError } from '../terms/yaml.ts'
import { serve } from './serve.ts'
import type { ServeOptions } from './startup.ts'

const ACCOUNT = 'demo'
const KEY = 'npm start'
const GROUP = 'default'
/** Where the catalogue of the checkout expects it. */
const SIMULATOR_PORT = 3999

/** The catalogue leads to the simulator where no address is set, and there is none beside a real key. */
const NO_URL =
  'UPSTREAM_KEY is set and UPSTREAM_URL is not: set UPSTREAM_URL to the address of the upstream that the key is for, ' +
  'or unset UPSTREAM_KEY for a simulated one'

/** What one start leaves to the next, so that yesterday's key and token work today. */
interface Remembered {
  adminToken: string
  key: string
}

export async function demo({ configFile, env }: ServeOptions): Promise<void> {
  const simulated = !env['UPSTREAM_KEY']
  if (simulated) env['UPSTREAM_URL'] = (await simulator()).url
  const before = loadConfig(configFile, { ...env, GATEWAY_ADMIN_TOKEN: env['GATEWAY_ADMIN_TOKEN'] || 'not-made-yet' })
  if (!simulated && !env['UPSTREAM_URL'] && asksForUrl(before.catalog)) throw new ConfigError([NO_URL])
  // beside the store and the journal of the checkout, whatever the store is
  const memory = join(dirname(before.journal), 'demo.json')
  const remembered = recall(memory)
  env['GATEWAY_ADMIN_TOKEN'] ||= remembered.adminToken
  const config = loadConfig(configFile, env)
  if (config.secret !== remembered.adminToken) config.secretPrevious ??= remembered.adminToken
  await serve(config, { configFile, env })
  const store = openStore(config.store, { secret: config.secret })
  const works = await putKey(store, remembered.key)
  await store.close()
  const { main, ops } = config.listen
  console.log(`
  The gateway runs${simulated ? ', with a simulated upstream (set UPSTREAM_URL and UPSTREAM_KEY for a real one)' : ''}.

    address      http://${main.host}:${main.port}   (console: http://${main.host}:${main.port}/console)
    key          ${remembered.key}${works ? '' : '   (disabled by an administrator)'}
    admin token  ${config.adminToken}   (http://${ops.host}:${ops.port}/admin/accounts)

  Try it:

    curl http://${main.host}:${main.port}/v1/chat/completions -H 'authorization: Bearer ${remembered.key}' -H 'content-type: application/json' -d '{"model":"beta-4.7","messages":[{"role":"user","content":"Hello!"}]}'

  Key and token are kept in ${memory}; remove that file for new ones.
`)
}

const asksForUrl = (catalog: string | null): boolean =>
  catalog !== null && existsSync(catalog) && /\$\{UPSTREAM_URL\b/.test(readFileSync(catalog, 'utf8'))

/** At the same address each time, so that the channels stay the same rows; at any other when somebody is there. */
async function simulator(): Promise<Simulator> {
  const at = (port: number) => simulate({ listen: { host: '127.0.0.1', port } })
  try {
    return await at(SIMULATOR_PORT)
  } catch {
    return await at(0)
  }
}

function recall(file: string): Remembered {
  try {
    const { adminToken, key } = JSON.parse(readFileSync(file, 'utf8')) as Remembered
    if (typeof adminToken === 'string' && /^sk-\w+$/.test(key)) return { adminToken, key }
  } catch {
    // the first start, or somebody wrote into it: new ones
  }
  const made: Remembered = {
    adminToken: randomBytes(24).toString('base64url'),
    key: `sk-${randomBytes(30).toString('base64url').replaceAll(/[-_]/g, '0')}`,
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(made), { mode: 0o600 })
  chmodSync(file, 0o600) // also one that was there
  return made
}

/** Whether the key may be used: one that an administrator disabled stays so. */
async function putKey(store: Store, secret: string): Promise<boolean> {
  const account = await store.accountByName(ACCOUNT)
  if (account === null) return false
  const hash = hashOf(secret)
  const hint = hintOf(secret)
  const known = await store.keyByName(account.id, KEY)
  if (known === null) await store.createKey(newKey(account.id, hash, hint))
  else if (known.hash !== hash) await store.updateKey(known.id, { hash, hint })
  return known === null || known.status === 'enabled'
}

const newKey = (accountId: number, hash: string, hint: string): NewKey => ({
  accountId,
  name: KEY,
  hash,
  hint,
  group: GROUP,
  status: 'enabled',
  expiresAtMs: null,
  cap: null,
  allowIps: null,
  models: null,
})
