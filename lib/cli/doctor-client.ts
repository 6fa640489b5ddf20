/**
 * What `gateway doctor --base URL` says to somebody who cannot get a client to work: where the address leads, which part of it belongs
 * into which client, whether the key is one, whether it arrives in each place where clients put it, which protocols are spoken, and
 * whether the clocks agree. It needs no config, so it runs on the client's machine. Nothing is charged: no model is asked.
 */
import { isLoopback } from '../config/scalars.ts'
import type { Check } from './doctor-public.ts'
import { answerOfUrl } from './doctor-console.ts'

type Say = (check: string, result: Check['result'], says: string, mend?: string) => void

interface Client {
  base: string
  /** null = none is given. */
  key: string | null
}

const WARN_SKEW_S = 60
const MOST_SKEW_S = 300

/** Where clients put a key, with the clients that do. */
const PLACES: readonly [header: string, form: (key: string) => string, whose: string][] = [
  ['authorization', key => `Bearer ${key}`, 'OpenAI-compatible clients, and most others'],
  ['x-api-key', key => key, 'clients of messages'],
  ['x-goog-api-key', key => key, 'clients of generate-content'],
]

/** A path of each protocol of text, behind the root of the address. A body without a model is refused there, and nowhere else known. */
const PROTOCOLS: readonly [name: string, path: string][] = [
  ['chat', '/v1/chat/completions'],
  ['messages', '/v1/messages'],
  ['responses', '/v1/responses'],
  ['generate', '/v1beta/models/none:generateContent'],
]

/** True = the path is not there, the key did not arrive, or something failed. */
const isUnspoken = (status: number): boolean => status === 404 || status === 401 || status >= 500

const ENDPOINT = /\/(?:v\d\w*\/)?(?:chat\/completions|completions|messages|responses|embeddings|models)(?:\/[^/]*)?\/?$/
const VERSION = /\/v1(?:beta)?$/

export async function* checkClient({ base, key: given }: Client): AsyncGenerator<Check> {
  const found: Check[] = []
  const say: Say = (check, result, says, mend = '') => void found.push({ address: 'client', check, result, says, mend })
  const root = checkBase(base, say)
  const key = given === null ? null : checkKey(given, say)
  yield* found.splice(0)
  if (root === null) return
  const isThere = await checkModels(root, key, say)
  yield* found.splice(0)
  if (!isThere) return
  if (key !== null) await checkPlacements(root, key, say)
  yield* found.splice(0)
  if (key !== null) await checkProtocols(root, key, say)
  yield* found
}

/** Checks the base address. Returns it without what clients append; null = it cannot be asked. */
function checkBase(base: string, say: Say): string | null {
  const url = URL.parse(base.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) {
    say('prefix', 'problem', `${base} is no address`, 'an address like https://api.example.com')
    return null
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    say(
      'encryption',
      'problem',
      `the key can be read on the way to ${url.host}`,
      `https://${url.host}, if the gateway has that`,
    )
  const path = url.pathname.replace(/\/+$/, '')
  const [endpoint] = ENDPOINT.exec(url.pathname) ?? []
  const before = endpoint === undefined ? path : path.slice(0, path.length - endpoint.replace(/\/+$/, '').length)
  const root = `${url.origin}${before.replace(VERSION, '')}`
  const forEach = `OpenAI-compatible clients take ${root}/v1, clients of messages and generate-content ${root}`
  if (endpoint !== undefined) say('prefix', 'problem', `${endpoint} is appended by clients themselves`, forEach)
  else if (url.search !== '' || url.hash !== '') say('prefix', 'problem', 'a base address has no query', forEach)
  else say('prefix', 'ok', forEach)
  return root
}

/** Checks the key. Returns it without what surrounds it: spaces, quotes, the word Bearer. */
function checkKey(text: string, say: Say): string {
  const key = text
    .trim()
    .replace(/^(["'])(.*)\1$/s, '$2')
    .replace(/^bearer\s+/i, '')
    .trim()
  if (key === '') say('key', 'problem', 'it is empty', 'does the variable have a value in this shell?')
  else if (/[^!-~]/.test(key))
    say('key', 'problem', 'it has a space, a line break or a character that no key has', 'copy it anew')
  else if (text !== key && text !== `${key}\n`)
    say(
      'key',
      'problem',
      'there is more than the key: spaces, quotes or the word Bearer',
      'give the client the bare key',
    )
  else if (!key.startsWith('sk-'))
    say('key', 'warning', 'it does not begin with sk-, as keys of this gateway do', 'is it a key of another service?')
  else say('key', 'ok', `${key.slice(0, 3)}…${key.slice(-4)}`)
  return key
}

/** Asks for the list of models, as the client would with the key. True = a gateway answered, and did not refuse the key. */
async function checkModels(root: string, key: string | null, say: Say): Promise<boolean> {
  const sentMs = Date.now()
  const answer = await answerOfUrl(`${root}/v1/models`, key === null ? {} : { authorization: `Bearer ${key}` })
  if (typeof answer === 'string') {
    say(
      'reach',
      'problem',
      `${root} does not answer: ${answer}`,
      'is the address right, and may this machine reach it?',
    )
    return false
  }
  const said = await jsonOf(answer)
  if (said === null) {
    say(
      'reach',
      'problem',
      `${root}/v1/models answers ${answer.status}, and not as a gateway does`,
      'is there a page or a proxy of somebody else at this address?',
    )
    return false
  }
  if (answer.status === 404) {
    say(
      'reach',
      'problem',
      `there is a gateway at ${root}, and none of its paths begins so`,
      `the address of its operator, perhaps ${new URL(root).origin}`,
    )
    return false
  }
  say('reach', 'ok', `${root} leads to a gateway`)
  checkClock(answer, sentMs, say)
  const count = Array.isArray(said['data']) ? said['data'].length : 0
  if (key === null)
    say(
      'models',
      'warning',
      'without a key nothing more can be said',
      'gateway doctor --base URL --key -, and the key on standard input',
    )
  else if (answer.status === 401)
    say(
      'models',
      'problem',
      'the gateway does not take the key: it is unknown, disabled, expired or used up',
      'its owner finds it in the console by its last four characters',
    )
  else if (answer.status !== 200)
    say('models', 'problem', `refused with ${answer.status}: ${messageIn(said)}`, 'docs/errors.md says what it means')
  else if (count === 0)
    say(
      'models',
      'problem',
      'the key may use no model',
      "the group of the key serves none: the gateway's operator knows",
    )
  else say('models', 'ok', `the key may use ${count}`)
  return answer.status !== 401
}

/** Compares this machine's clock with that of the gateway, which its answer tells to the second. */
function checkClock(answer: Response, sentMs: number, say: Say): void {
  const theirs = Date.parse(answer.headers.get('date') ?? '')
  if (Number.isNaN(theirs)) return
  const skewS = Math.round(Math.abs(theirs - sentMs) / 1000)
  const says = `this machine's clock and that of the gateway differ by ${skewS} s`
  const mend = 'set both by NTP: certificates and times of expiry are judged by them'
  if (skewS > MOST_SKEW_S) say('clock', 'problem', says, mend)
  else if (skewS > WARN_SKEW_S) say('clock', 'warning', says, mend)
  else say('clock', 'ok', 'it agrees with that of the gateway')
}

/** Sends the key in each place where clients put it. */
async function checkPlacements(root: string, key: string, say: Say): Promise<void> {
  for (const [header, form, whose] of PLACES) {
    const answer = await answerOfUrl(`${root}/v1/models`, { [header]: form(key) })
    const status = typeof answer === 'string' ? answer : answer.status
    if (status === 200) say('placement', 'ok', `${header} arrives (${whose})`)
    else
      say(
        'placement',
        'problem',
        `${header} is answered ${status}: ${whose} cannot use this address`,
        'let everything between here and the gateway pass this header',
      )
  }
}

/** Sends each protocol of text an empty request, which is refused before it costs anything. */
async function checkProtocols(root: string, key: string, say: Say): Promise<void> {
  for (const [name, path] of PROTOCOLS) {
    const headers = {
      authorization: `Bearer ${key}`,
      'x-api-key': key,
      'x-goog-api-key': key,
      'content-type': 'application/json',
    }
    const answer = await answerOfUrl(`${root}${path}`, headers, '{}')
    const said = typeof answer === 'string' ? null : await jsonOf(answer)
    if (typeof answer === 'string' || said === null || isUnspoken(answer.status))
      say(
        'protocol',
        'problem',
        `${name}: ${root}${path} is answered ${typeof answer === 'string' ? answer : answer.status}`,
        'let everything between here and the gateway pass POST requests to this path',
      )
    else say('protocol', 'ok', `${name} is spoken at ${root}${path.replace('none', 'MODEL')}`)
  }
}

async function jsonOf(answer: Response): Promise<Record<string, unknown> | null> {
  try {
    const said: unknown = JSON.parse((await answer.text()).slice(0, 1_000_000))
    return typeof said === 'object' && said !== null && ('error' in said || 'data' in said)
      ? (said as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

function messageIn(said: Record<string, unknown>): string {
  const { error } = said
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  return typeof message === 'string' ? message.slice(0, 200) : 'without a reason'
}
