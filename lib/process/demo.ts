/**
 * `gateway demo`, which `npm start` runs: a gateway on a fresh checkout with everything that a first request needs.
 * Without UPSTREAM_KEY it starts the simulator as upstream, and where the config has no way to pay, simulated payment providers. Where it
 * has both, people may register, by letters to a simulated mailbox. It makes an admin token, a key and a secret, and keeps them in a file,
 * so that they work again after the next start. It prints links by which an operator and a user sign in.
 */
import { DAY_MS } from '../base/clock.ts'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type OperationDeps, storeNow } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import { Keys } from '../operations/accounts/keys.ts'
import { firstSignInLink, isThisMachine } from '../operations/people/sign-in.ts'
import { type Simulator, simulate } from '../../tools/simulator/main.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { newSecret } from '../base/secrets.ts'
import { PAY_METHODS } from '../terms/pay.ts'
import { GATEWAY } from '../base/people.ts'
import { ConfigError } from '../config/yaml.ts'
import { serveGateway } from './serve.ts'
import type { ServeOptions } from './prepare.ts'

const ACCOUNT = 'demo'
const KEY = 'npm start'
const GROUP = 'default'
/** The port at which the catalogue of the checkout expects the simulator. */
const SIMULATOR_PORT = 3999

/** Where UPSTREAM_URL is not set, the catalogue names the simulator, which is not started when there is a real key. */
const NO_URL =
  'UPSTREAM_KEY is set and UPSTREAM_URL is not: set UPSTREAM_URL to the address of the upstream that the key is for, ' +
  'or unset UPSTREAM_KEY for a simulated one'

/** What the file keeps from one start to the next. */
interface Remembered {
  adminToken: string
  key: string
  /** Seals what the store keeps of channels and users. */
  secret: string
  /** The extended public key of the accounts' addresses on the simulated chain. */
  xpub: string
}

export async function demo({ configFile, env }: ServeOptions): Promise<void> {
  const simulated = !env['UPSTREAM_KEY']
  if (simulated) env['UPSTREAM_URL'] = (await simulator()).url
  const before = loadConfig(configFile, { ...env, GATEWAY_ADMIN_TOKEN: env['GATEWAY_ADMIN_TOKEN'] || 'not-made-yet' })
  if (!simulated && !env['UPSTREAM_URL'] && asksForUrl(before.catalog)) throw new ConfigError([NO_URL])
  // in the data folder of the checkout, which the journal is in, wherever the store may be
  const memory = join(dirname(before.journal), 'demo.json')
  const remembered = await recall(memory)
  env['GATEWAY_ADMIN_TOKEN'] ||= remembered.adminToken
  const config = loadConfig(configFile, env)
  if (config.ownSecret) config.secretPrevious ??= remembered.secret
  else Object.assign(config, { secret: remembered.secret, ownSecret: true, secretPrevious: config.secret })
  await offerPayments(config, remembered, dirname(memory), simulated)
  const operations = await serveGateway(config, { configFile, env })
  if (config.payer !== null) await setDemoRate(operations)
  const problem = await provideKey(operations, remembered.key)
  const links = await signInLinks(operations, config)
  const { main, ops } = config.listen
  console.log(`
  The gateway runs${simulated ? ', with a simulated upstream (set UPSTREAM_URL and UPSTREAM_KEY for a real one)' : ''}.

    address      http://${main.host}:${main.port}   (console: http://${main.host}:${main.port}/console)
    key          ${remembered.key}${problem === null ? '' : `   (${problem})`}
    admin token  ${config.adminToken}   (http://${ops.host}:${ops.port}/admin/accounts)

${links.map(({ who, url }) => `    sign in      ${url}   (${who}; once, within 15 minutes, from this machine)\n`).join('')}${simulatedLines(config)}
  Try it:

    curl http://${main.host}:${main.port}/v1/chat/completions -H 'authorization: Bearer ${remembered.key}' -H 'content-type: application/json' -d '{"model":"beta-4.7","messages":[{"role":"user","content":"Hello!"}]}'

  Key and token are kept in ${memory}; remove that file for new ones.
`)
}

const simulatedLines = ({ payer, mailbox, public: { main } }: Config): string =>
  [
    payer !== null && `    payments     simulated: top up in the console, and play the payer at ${payer}\n`,
    mailbox !== null &&
      `    register     ${main}/console/register   (letters are simulated: they stand here, and at ${mailbox})\n`,
  ]
    .filter(line => line !== false)
    .join('')

const asksForUrl = (catalog: string | null): boolean =>
  catalog !== null && existsSync(catalog) && /\$\{UPSTREAM_URL\b/.test(readFileSync(catalog, 'utf8'))

/**
 * Starts the simulator: at the same address each time, so that the channels stay the same rows; at a free port when
 * that one is taken.
 */
async function simulator(): Promise<Simulator> {
  const at = (port: number) => simulate({ listen: { host: '127.0.0.1', port } })
  try {
    return await at(SIMULATOR_PORT)
  } catch {
    return await at(0)
  }
}

/** What the last start has kept; what is not there is made anew. */
async function recall(file: string): Promise<Remembered> {
  const { newXpub } = await import('../../tools/simulator/pay/chain.ts')
  const made = (): Remembered => ({ adminToken: random(), key: newSecret(), secret: random(), xpub: newXpub() })
  try {
    const { adminToken, key, secret, xpub } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Remembered>
    if (typeof adminToken === 'string' && typeof key === 'string' && /^sk-\w+$/.test(key)) {
      if (typeof secret === 'string' && typeof xpub === 'string') return { adminToken, key, secret, xpub }
      return keep(file, { ...made(), adminToken, key, ...(typeof secret === 'string' && { secret }) })
    }
  } catch {
    // the first start, or somebody edited the file: all are made anew
  }
  return keep(file, made())
}

/** Simulated providers, where the config has no way to pay, and where nobody but this machine reaches the gateway and them. */
async function offerPayments(
  config: Config,
  { xpub }: Remembered,
  folder: string,
  isUpstreamSimulated: boolean,
): Promise<void> {
  const { main } = config.public
  const isHere = config.workers === 1 && isThisMachine(config.listen.main.host) && main.startsWith('http://127.0.0.1')
  if (!isHere || PAY_METHODS.some(name => config.pay[name] !== undefined)) return
  const { simulatePayments } = await import('../../tools/simulator/pay/main.ts')
  const file = join(folder, 'simulated-chain.json')
  const told: Parameters<typeof simulatePayments>[1]['told'] = ({ to, link }) =>
    console.log(`  simulated letter to ${to}: ${link ?? 'no link'}`)
  const { sections, payer, smtp, mailbox } = await simulatePayments({ teardown() {} }, { main, xpub, file, told })
  Object.assign(config, { pay: { ...config.pay, ...sections }, payer })
  // a real upstream costs money, which is not for everybody on this machine
  if (!isUpstreamSimulated || config.smtp !== null || config.registration.said) return
  Object.assign(config, { smtp, mailbox, registration: { ...config.registration, mode: 'open' } })
}

const DEMO_RATE = 7_100_000

async function setDemoRate({ store, clock }: OperationDeps): Promise<void> {
  const fromMs = await storeNow({ store, clock })
  if ((await store.pay.payRate('USDT', fromMs + DAY_MS)) !== null) return
  const rate = { currency: 'USDT', rate: DEMO_RATE, fromMs, untilMs: fromMs + 300 * DAY_MS }
  await store.pay.setPayRate(rate, { actor: GATEWAY, operation: 'payments.set_rate' })
}

const random = (): string => randomBytes(24).toString('base64url')

function keep(file: string, made: Remembered): Remembered {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(made), { mode: 0o600 })
  chmodSync(file, 0o600) // `mode` above has no effect on a file that exists
  return made
}

/** Links for an operator and for the owner of the demo account. None where others than this machine reach the console. */
async function signInLinks({ store, clock }: OperationDeps, config: Config) {
  if (!isThisMachine(config.listen.main.host)) return []
  const account = await store.accounts.byName(ACCOUNT)
  const people = [
    { who: 'an operator', email: 'operator@demo.invalid', operator: true, account: null },
    { who: `the owner of ${ACCOUNT}`, email: 'user@demo.invalid', operator: false, account },
  ]
  const links: { who: string; url: string }[] = []
  for (const { who, ...person } of people)
    links.push({ who, url: await firstSignInLink({ store, clock, config: () => config }, person) })
  return links
}

/** Makes the key work, and says why it does not where it cannot: an administrator's decision stays in force. */
async function provideKey(operations: OperationDeps, secret: string): Promise<string | null> {
  try {
    const key = await new Keys(operations).provide({ account: ACCOUNT, name: KEY, group: GROUP }, secret, GATEWAY)
    return key.status === 'enabled' ? null : 'disabled by an administrator'
  } catch (error) {
    if (error instanceof OperationError) return `does not work: ${error.message}`
    throw error
  }
}
