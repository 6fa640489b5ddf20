/**
 * Calls of the console's API. A call whose session has ended asks the reader to sign in again, in a dialog over the page,
 * and one that wants a proof asks for it; then the call is made once more, so nothing that was entered is lost.
 */
import { signal } from '@preact/signals'
import { language, words } from './words.ts'

const w = words({
  unreachable: [
    '没有收到网关的回答，请检查网络后再试',
    'No answer came from the gateway: look at the network, then try again',
  ],
  expected: [(what: string) => `应为${what}`, (what: string) => `Expected: ${what}`],
  garbled: [
    (status: number) => `网关返回了无法识别的回答（${status}）`,
    (status: number) => `The gateway gave an answer that this page does not understand (${status})`,
  ],
})

/** Longer than the slowest report may take. */
const TIMEOUT_MS = 60_000

/** Why a call was refused: the message is in the reader's language and names the request's id. */
export class Refused extends Error {
  override name = 'Refused'
  /** 0 = no answer came. */
  readonly status: number
  readonly code: string
  /** What is wrong with single fields, by name. */
  readonly fields: Readonly<Record<string, string>>

  /** The message without the id of the request. */
  get reason(): string {
    return this.message.replace(/ \(request id: \w+\)$/, '')
  }

  constructor(status: number, code: string, message: string, fields: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.fields = fields
  }
}

/** What the reader has to do before a call can go on. frame.ts shows the dialog. */
export interface Interruption {
  kind: 'sign-in' | 'step-up'
  /** `done`: true = the call is made again. */
  end(done: boolean): void
}

export const interruption = signal<Interruption | null>(null)

type Query = Record<string, string | number | null | undefined>

export const get = <T>(path: string, query: Query = {}): Promise<T> => ask<T>('GET', `${path}${queryText(query)}`)

export const send = <T = null>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<T> =>
  ask<T>(method, path, body)

/** A call that never opens a dialog: those by which people sign in. */
export const askOnce = <T>(method: string, path: string, body?: object): Promise<T> => call<T>(method, path, body)

const INTERRUPTIONS: Record<string, Interruption['kind']> = { signed_out: 'sign-in', step_up: 'step-up' }

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  try {
    return await call<T>(method, path, body)
  } catch (error) {
    const kind = error instanceof Refused ? INTERRUPTIONS[error.code] : undefined
    if (kind === undefined || !(await interrupted(kind))) throw error
    return ask<T>(method, path, body)
  }
}

/** Several calls that wait for the same thing share one dialog. */
let open: Promise<boolean> | null = null

function interrupted(kind: Interruption['kind']): Promise<boolean> {
  open ??= new Promise<boolean>(resolve => {
    interruption.value = {
      kind,
      end(done) {
        interruption.value = null
        open = null
        resolve(done)
      },
    }
  })
  return open
}

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  let response: Response
  try {
    response = await fetch(`/console/api${path}`, {
      method,
      headers: {
        accept: 'application/json',
        'accept-language': language.value === 'zh' ? 'zh-CN' : 'en',
        ...(method !== 'GET' && { 'content-type': 'application/json' }),
      },
      ...(method !== 'GET' && method !== 'DELETE' && { body: JSON.stringify(body ?? {}) }),
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch {
    throw new Refused(0, 'unreachable', w.unreachable())
  }
  if (response.status === 204) return null as T
  const text = await response.text().catch(() => '')
  if (response.ok && text === '') return null as T
  const answer = parsed(text)
  if (response.ok && answer !== null) return answer as T
  throw refusalOf(response.status, answer)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

interface Envelope {
  error?: { code?: unknown; message?: unknown; fields?: { field: string; expected: string }[] }
}

function refusalOf(status: number, answer: unknown): Refused {
  const error = (answer as Envelope | null)?.error
  if (typeof error?.message !== 'string') return new Refused(status, 'garbled', w.garbled(status))
  const fields = Object.fromEntries((error.fields ?? []).map(({ field, expected }) => [field, w.expected(expected)]))
  return new Refused(status, String(error.code), error.message, fields)
}

function queryText(query: Query): string {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') text.set(name, String(value))
  return text.toString() === '' ? '' : `?${text}`
}
