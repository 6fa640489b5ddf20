/**
 * `gateway doctor`: says how config, store, books, journal, gateway, console and upstreams are, as this machine sees them. It changes nothing,
 * and sends no request to an upstream unless it is asked to (`--deep`), because that may cost some tokens.
 */
import { DAY_MS, SECOND_MS } from '../base/clock.ts'
import { lookup } from 'node:dns/promises'
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import path from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { type Config, loadConfig, localUrlOf } from '../config/config.ts'
import { ConfigError } from '../config/yaml.ts'
import { countDeadLetters } from '../ledger/dead-letters.ts'
import { readAudit } from '../operations/billing/audit.ts'
import type { Store } from '../store/store.ts'
import type { Channel } from '../terms/records.ts'
import { callNamed, withCalls } from './calls.ts'
import { check } from './check.ts'
import { answerOfUrl, consoleOf } from './doctor-console.ts'
import type { Check } from './doctor-public.ts'
import { NOBODY, withStoreOf } from './with-store.ts'

const SLOW_STORE_MS = 100
const MOST_SKEW_MS = 60 * SECOND_MS
const WAIT_MS = 5 * SECOND_MS
const LEAST_FREE_BYTES = 1_000_000_000
const LEAST_CERTIFICATE_DAYS = 14

type Say = (check: string, result: Check['result'], says: string, mend?: string) => void

interface DoctorParts {
  configFile: string
  env: NodeJS.ProcessEnv
  /** Channels are tried out by the gateway that runs. */
  deep: boolean
}

/** Group after group, each as far as it can be asked. */
export async function* checkHere({ configFile, env, deep }: DoctorParts): AsyncGenerator<Check> {
  const found: Check[] = []
  const group =
    (address: string): Say =>
    (name, result, says, mend = '') =>
      void found.push({ address, check: name, result, says, mend })
  const config = await configOf(configFile, env, group('config'))
  yield* found.splice(0)
  if (config === null) return
  journalOf(config, group('journal'))
  yield* found.splice(0)
  const channels = await storeOf(configFile, env, group)
  yield* found.splice(0)
  await gatewayOf(config, group('gateway'))
  yield* found.splice(0)
  await consoleOf(config, group('console'))
  yield* found.splice(0)
  const seen = await healthOf(configFile)
  for (const channel of channels.filter(({ status }) => status === 'enabled')) {
    await upstreamOf(channel, group('upstream'))
    failuresOf(channel, seen, group('upstream'))
    if (deep) await tryOut(configFile, channel, group('upstream'))
    yield* found.splice(0)
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

async function configOf(configFile: string, env: NodeJS.ProcessEnv, say: Say): Promise<Config | null> {
  try {
    const { text, warnings, refused } = await check(configFile, env)
    const mend = 'docs/sense.md says why; change it, or accept it by its name'
    for (const line of refused) say('sense', 'problem', line, mend)
    for (const line of warnings) say('sense', 'warning', line, mend)
    say('file', 'ok', text)
    return loadConfig(configFile, env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    say('file', 'problem', error.message, 'gateway check')
    return null
  }
}

function journalOf({ journal }: Config, say: Say): void {
  const there = existsSync(journal) ? journal : path.dirname(path.resolve(journal))
  try {
    accessSync(there, constants.W_OK)
    const { bavail, bsize } = statfsSync(there)
    const free = bavail * bsize
    const says = `${journal}, with ${(free / 1e9).toFixed(1)} GB free`
    if (free < LEAST_FREE_BYTES) say('folder', 'warning', says, 'make room: without a journal no request is served')
    else say('folder', 'ok', says)
  } catch (error) {
    say('folder', 'problem', messageOf(error), `make ${journal} a folder that the user of the gateway may write`)
    return
  }
  const { settlements, unreadable } = countDeadLetters(journal)
  if (settlements + unreadable === 0) say('set aside', 'ok', 'nothing')
  else
    say(
      'set aside',
      'problem',
      `${settlements} charges and ${unreadable} unreadable files are not in the books`,
      'docs/ledger.md, "Set aside", says what to do with each',
    )
}

async function storeOf(
  configFile: string,
  env: NodeJS.ProcessEnv,
  group: (address: string) => Say,
): Promise<Channel[]> {
  const say = group('store')
  try {
    return await withStoreOf(configFile, env, async (store, config) => {
      await answerOf(store, say)
      await booksOf(store, config, group('books'))
      return (await store.catalogue.read()).channels
    })
  } catch (error) {
    say(
      'answer',
      'problem',
      messageOf(error),
      'start the database, or name it in `store`; `gateway migrate` makes the tables',
    )
    return []
  }
}

async function answerOf(store: Store, say: Say): Promise<void> {
  const began = performance.now()
  await store.ping()
  const ms = Math.round(performance.now() - began)
  say(
    'answer',
    ms > SLOW_STORE_MS ? 'warning' : 'ok',
    `it takes writes, and answers in ${ms} ms`,
    ms > SLOW_STORE_MS ? 'bring it nearer: requests wait for it now and then' : '',
  )
  const now = await store.now()
  if (now === null) return
  const skewMs = Math.abs(now - Date.now())
  const says = `its clock and this machine's differ by ${(skewMs / SECOND_MS).toFixed(0)} s`
  if (skewMs > MOST_SKEW_MS) say('clock', 'problem', says, 'set both by NTP')
  else say('clock', 'ok', says)
}

async function booksOf(store: Store, { journal }: Config, say: Say): Promise<void> {
  const { row, balanced } = await readAudit({ store, fleet: NOBODY, setAside: () => countDeadLetters(journal) })
  if (balanced) say('audit', 'ok', `${row.accounts} accounts balance`)
  else
    say(
      'audit',
      'problem',
      `${row.broken} accounts do not balance, by ${row.imbalance} CNY`,
      'gateway audit names each equation and what mends it',
    )
}

async function gatewayOf(config: Config, say: Say): Promise<void> {
  const url = localUrlOf(config.listen.ops)
  const answer = await answerOfUrl(`${url}/readyz`, {})
  if (typeof answer === 'string')
    say('ready', 'problem', `${url} does not answer: ${answer}`, 'start it: systemctl start gateway')
  else if (answer.ok) say('ready', 'ok', `${url} is ready`)
  else say('ready', 'problem', `${url} is not ready: ${await answer.text()}`, 'its log says why')
  const metrics = await answerOfUrl(`${url}/metrics`, {})
  if (typeof metrics !== 'string' && metrics.ok) wrongTokensOf(await metrics.text(), say)
}

/** Somebody who tries tokens stands in no list: without one there is no account, key or user to name. */
function wrongTokensOf(metrics: string, say: Say): void {
  const counts = [...metrics.matchAll(/^gateway_admin_refused_total\{reason="token"\} (\d+)$/gm)]
  const count = counts.reduce((sum, [, text]) => sum + Number(text), 0)
  if (count === 0) say('tokens', 'ok', 'no admin call came with a wrong token since it started')
  else {
    const mend = 'its log names their addresses ("an admin call was not let in"); keep listen.ops private'
    say('tokens', 'warning', `${count} admin calls came with a wrong token, or none, since it started`, mend)
  }
}

async function upstreamOf({ name, baseUrl, proxy, ca }: Channel, say: Say): Promise<void> {
  if (proxy !== null) return say(name, 'ok', 'it is reached through a proxy, and not tried from here')
  const { protocol, hostname, port } = new URL(baseUrl)
  const host = hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host).catch(messageOf)
  if (typeof found === 'string')
    return say(name, 'problem', found, `is base_url right, and does this machine resolve ${host}?`)
  if (protocol === 'http:') return say(name, 'ok', `${host} has the address ${found.address}`)
  const days = await certificateDays(host, Number(port) || 443, ca)
  if (typeof days === 'string')
    say(name, 'problem', days, 'is the address reachable from here, and its certificate trusted (`ca` of the channel)?')
  else if (days < LEAST_CERTIFICATE_DAYS)
    say(name, 'warning', `its certificate ends in ${days} days`, 'its operator must renew it')
  else say(name, 'ok', `${host} has a certificate for ${days} more days`)
}

/** How long the certificate is good; a text: why there is no connection. */
const certificateDays = (host: string, port: number, ca: string | null): Promise<number | string> =>
  new Promise(resolve => {
    const trusted = ca === null ? {} : { ca: [ca] }
    const socket: TLSSocket = connect({ host, port, servername: host, ...trusted }, () => {
      resolve(Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / DAY_MS))
      socket.destroy()
    })
    socket.once('error', error => resolve(error.message))
    socket.setTimeout(WAIT_MS, () => socket.destroy(new Error(`no answer within ${WAIT_MS / SECOND_MS} s`)))
  })

interface Health {
  state: string
  lately: Record<string, number>
  failures: { reason: string | null }[]
}

/** What the gateway that runs knows of its channels; nothing where none answers, which `gatewayOf` has said. */
async function healthOf(configFile: string): Promise<Map<string, Health | null>> {
  const seen = new Map<string, Health | null>()
  await withCalls({ config: configFile, live: 'always' }, async make => {
    const { data } = (await make(callNamed('channels.list'), { path: {}, query: {}, body: {} })) as {
      data: { name: string; health: Health | null }[]
    }
    for (const { name, health } of data) seen.set(name, health)
  }).catch(() => {})
  return seen
}

/** What failed while clients were served says more than what can be tried from here. */
function failuresOf({ name }: Channel, seen: ReadonlyMap<string, Health | null>, say: Say): void {
  const { state, lately, failures } = seen.get(name) ?? { state: 'closed', lately: {}, failures: [] }
  const counts = Object.entries(lately).map(([kind, count]) => `${kind}: ${count}`)
  if (counts.length === 0) return
  const why = failures[0]?.reason ?? null
  const says = `failed within the last hour: ${counts.join(', ')}${why === null ? '' : `; at last: ${why}`}`
  say(name, state === 'closed' ? 'warning' : 'problem', says, `gateway channels show ${name}`)
}

async function tryOut(configFile: string, { name, models, protocols }: Channel, say: Say): Promise<void> {
  const [model] = Object.keys(models)
  const sent = { path: { name }, query: {}, body: { model, protocol: protocols[0] } }
  await withCalls({ config: configFile, live: 'always' }, async make => {
    const { data } = (await make(callNamed('channels.test'), sent)) as {
      data: { ok: boolean | null; class: string; reason: string }[]
    }
    const [tried] = data
    if (tried?.ok === false)
      say(name, 'problem', `${model}: ${tried.class}: ${tried.reason ?? ''}`, `gateway channels show ${name}`)
    else say(name, 'ok', tried?.ok === true ? `${model} answers` : `${model} was not tried`)
  }).catch(error => say(name, 'problem', messageOf(error), 'a gateway that runs tries upstreams out: start it'))
}
