/**
 * A call of the admin API as a command makes it: here, on the store that the config names, or sent to a gateway that runs.
 */
import { Instead, methodOf, type Operation, pathOf, type Streamed, TextFile } from '../api/operation.ts'
import { systemClock } from '../base/clock.ts'
import { createLogger } from '../base/log.ts'
import { COMMAND } from '../base/people.ts'
import { type AdminParts, adminParts } from '../admin/call.ts'
import { ADMIN_CALLS } from '../admin/rows.ts'
import { OperationError, type OperationFault } from '../operations/error.ts'
import { byActor } from '../operations/people/deps.ts'
import { Mailer } from '../operations/people/mail.ts'
import { read } from '../operations/read.ts'
import { ReadyJson } from '../operations/usage/reports.ts'
import { writeAll } from './output.ts'
import { deskOf } from './pay-desk.ts'
import { withStoreOf } from './with-store.ts'
import { ConfigError, localUrlOf, loadConfig } from '../config/config.ts'

export interface SentCall {
  path: Record<string, string>
  query: Record<string, unknown>
  body: Record<string, unknown>
}

export type CallFields = Record<string, unknown>
export type CallRow = Operation<AdminParts>

/** Makes a call of the admin API, wherever that runs. */
export type MakeCall = (row: CallRow, sent: SentCall) => Promise<unknown>

export const callNamed = (id: string): CallRow => ADMIN_CALLS.find(row => row.id === id) as CallRow

/** `url`: ops address of a gateway; without it, `config` names the store. `live`: as in `CallCommand`. */
interface Place {
  url?: string | undefined
  config?: string | undefined
  live?: 'always' | 'if any' | undefined
}

export async function withCalls(
  { url = process.env['GATEWAY_URL'], config, live }: Place,
  work: (make: MakeCall) => Promise<void>,
): Promise<void> {
  if (url) return work(remoteCalls(url, process.env['GATEWAY_ADMIN_TOKEN']))
  if (live === undefined) return withStoreCalls(config as string, work)
  const { listen, adminToken } = loadConfig(config as string, process.env)
  const ops = localUrlOf(listen.ops)
  if (live === 'if any' && !(await answers(ops))) return withStoreCalls(config as string, work)
  try {
    await work(remoteCalls(ops, adminToken ?? undefined))
  } catch (error) {
    if (live !== 'if any' || !isRefusal(error)) throw error
    process.stderr.write(`gateway: what only a running gateway knows is missing: ${ops}: ${error.message}\n`)
    await withStoreCalls(config as string, work)
  }
}

/** Another gateway listens there, or this one holds the network because of wrong tokens. */
const isRefusal = (error: unknown): error is OperationError =>
  error instanceof OperationError && (error.fault === 'forbidden' || error.fault === 'throttled')

const ALIVE_MS = 2_000

const answers = (ops: string): Promise<boolean> =>
  fetch(`${ops}/healthz`, { signal: AbortSignal.timeout(ALIVE_MS) }).then(
    ({ ok }) => ok,
    () => false,
  )

/** The calls run in this process. Gateways that run find in the store what they changed. */
const withStoreCalls = (configFile: string, work: (make: MakeCall) => Promise<void>): Promise<void> =>
  withStoreOf(configFile, process.env, async (store, config) => {
    const { deps, desk } = deskOf(store, config)
    const mail = new Mailer({ clock: systemClock, log: createLogger('error'), smtp: () => config.smtp })
    const parts = adminParts({ ...deps, config: () => config, mail, pay: async () => desk, channels: null })
    const caller = { ...byActor(COMMAND), role: null, tokenId: null, provenAtMs: null }
    await work(async (row, { path, query, body }) => {
      const given =
        row.reads === 'itself'
          ? { query, body }
          : { query: row.query && read(row.query, query), body: row.body && read(row.body, body) }
      const result = await row.run(parts, { caller, path, ...given } as never)
      if (result instanceof Instead) return result.body
      if (result instanceof ReadyJson) return JSON.parse(Buffer.from(result.bytes).toString('utf8'))
      if (result instanceof TextFile) return writeAll(one(result.text), process.stdout).then(() => null)
      if (row.answer.body === 'stream') return writeAll((result as Streamed).pieces, process.stdout).then(() => null)
      return row.answer.body === null ? null : result
    })
    await mail.idle()
  })

async function* one(text: string): AsyncGenerator<string> {
  yield text
}

/** The path of a call with the names that stand in it. */
export const filled = (row: CallRow, path: Record<string, string>): string =>
  `/admin${pathOf(row).replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] as string))}`

const FAULT_OF: Readonly<Record<number, OperationFault>> = {
  401: 'forbidden',
  403: 'forbidden',
  404: 'missing',
  409: 'conflict',
  410: 'gone',
  429: 'throttled',
}

/** The calls are sent to a gateway. `url`: that of its ops listener. */
function remoteCalls(url: string, token: string | undefined): MakeCall {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new OperationError('invalid', '--url: expected the address of an ops listener, like http://127.0.0.1:3002')
  if (!token)
    throw new OperationError('forbidden', 'GATEWAY_ADMIN_TOKEN: expected the admin token of that gateway, found none')
  return async (row, { path, query, body }) => {
    const at = new URL(`${url.replace(/\/+$/, '')}${filled(row, path)}`)
    for (const [name, value] of Object.entries(query)) at.searchParams.set(name, String(value))
    const answer = await fetch(at, {
      method: methodOf(row),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'accept-language': 'en' },
      ...(row.body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(error => {
      throw new Error(`${at.origin} does not answer: ${(error.cause as Error | undefined)?.message ?? error.message}`)
    })
    const isFile = row.answer.types?.includes(answer.headers.get('content-type') ?? '') === true
    if (answer.ok && answer.body !== null && isFile) return writeAll(answer.body, process.stdout).then(() => null)
    const text = await answer.text()
    const says = messageOf(text)
    if (says === undefined && (answer.ok || row.answer.also?.some(status => status === answer.status)))
      return text === '' ? null : JSON.parse(text)
    const why = says ?? `${at.origin} answered ${answer.status}`
    if (says !== undefined && isAboutFile(text))
      throw new ConfigError(says.replace(/ \(request id: \w+\)$/, '').split('\n'))
    throw answer.status >= 500 ? new Error(why) : new OperationError(FAULT_OF[answer.status] ?? 'invalid', why)
  }
}

function messageOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message
  } catch {
    return undefined // something else than a gateway answered
  }
}

/** Whether lines about a file that was sent are told, which say where in it. */
const isAboutFile = (text: string): boolean =>
  (JSON.parse(text) as { error: { problems?: string } }).error.problems === 'file'
