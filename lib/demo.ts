/** `npm start`: everything needed for a first request on a fresh checkout, with the simulator where no upstream is known. */
import { createHash, randomBytes } from 'node:crypto'
import { serve } from './serve.ts'
import { simulate } from './simulator/main.ts'
import type { ServeOptions } from './startup.ts'
import { openStore } from './store/open.ts'
import type { NewKey, Store } from './store/store.ts'
import { loadConfig } from './terms/config.ts'

const ACCOUNT = 'demo'
const KEY = 'npm start'
const GROUP = 'default'

export async function demo({ configFile, env }: ServeOptions): Promise<void> {
  const simulated = !env['UPSTREAM_KEY']
  if (simulated) env['UPSTREAM_URL'] = (await simulate({ listen: { host: '127.0.0.1', port: 0 } })).url
  env['GATEWAY_ADMIN_TOKEN'] ||= randomBytes(24).toString('base64url')
  const config = loadConfig(configFile, env)
  await serve(config, { configFile, env })
  const secret = `sk-${randomBytes(30).toString('base64url').replaceAll(/[-_]/g, '0')}`
  const store = openStore(config.store, { secret: config.secret })
  await putKey(store, secret)
  await store.close()
  const { main, ops } = config.listen
  console.log(`
  The gateway runs${simulated ? ', with a simulated upstream (set UPSTREAM_URL and UPSTREAM_KEY for a real one)' : ''}.

    address      http://${main.host}:${main.port}   (console: http://${main.host}:${main.port}/console)
    key          ${secret}
    admin token  ${env['GATEWAY_ADMIN_TOKEN']}   (http://${ops.host}:${ops.port}/admin/accounts)

  Try it:

    curl http://${main.host}:${main.port}/v1/chat/completions -H 'authorization: Bearer ${secret}' -H 'content-type: application/json' -d '{"model":"beta-4.7","messages":[{"role":"user","content":"Hello!"}]}'
`)
}

/** A fresh secret for the demo key each time: only its hash is kept, so the last one cannot be shown again. */
async function putKey(store: Store, secret: string): Promise<void> {
  const account = await store.accountByName(ACCOUNT)
  if (account === null) return
  const hash = createHash('sha256').update(secret).digest('hex')
  const hint = `sk-…${secret.slice(-4)}`
  const known = await store.keyByName(account.id, KEY)
  if (known !== null) await store.updateKey(known.id, { hash, hint })
  else await store.createKey(newKey(account.id, hash, hint))
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
