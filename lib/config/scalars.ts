/**
 * The kinds of single values in our YAML files (durations, sizes, amounts, names, secrets, times …). Each says how the
 * value is written, what the code gets (ms, bytes, micro-CNY …) and how the JSON Schema for editors describes it.
 */
import { HOUR_MS } from '../base/clock.ts'
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import { type Micro, parseMicro, parseMillionths } from '../base/money.ts'
import type { Words } from '../base/people.ts'
import { EVERY } from '../base/periods.ts'
import type { SetLimit } from '../terms/records.ts'
import { oneOfThese } from './yaml.ts'

// zod would compile each schema, which pays off after thousands of runs; ours run once
z.config({ jitless: true })

type Json = Record<string, unknown>

/**
 * What problems call a kind of value. A text in English alone is for values that stand only in files: whatever people
 * send with the console has it in every language.
 */
export type Expected = string | Words

/**
 * Makes the schema of one kind of value. `expected` is what problems call it, or a function of the value found. `json`
 * is its JSON Schema. `read` converts the value and returns undefined when the value is not of this kind. `hidden` says
 * whether the value is a secret that problems must not show, or decides so from the value found.
 */
export function scalar<T>(
  expected: Expected | ((value: unknown) => Expected),
  json: Json,
  read: (value: unknown) => T | undefined,
  hidden: boolean | ((value: unknown) => boolean) = false,
) {
  return z
    .unknown()
    .transform((value, context): T => {
      const result = read(value)
      if (result !== undefined) return result
      const wanted = typeof expected === 'function' ? expected(value) : expected
      const secret = typeof hidden === 'boolean' ? hidden : hidden(value)
      context.addIssue({ code: 'custom', ...problem(wanted, secret) })
      return z.NEVER
    })
    .meta(json)
}

/** The parts of zod's issue that say what was expected. Checks of whole objects (`refine`) use it too. */
export const problem = (expected: Expected, hidden = false) =>
  typeof expected === 'string'
    ? { message: expected, params: { hidden } }
    : { message: expected.en, params: { hidden, words: expected } }

const both = (zh: string, en: string): Words => ({ zh, en })

/** The match of a text with `pattern`; null when the value is no text or does not match. */
export const matched = (pattern: RegExp, value: unknown): RegExpExecArray | null =>
  typeof value === 'string' ? pattern.exec(value) : null

const within = (value: number, least: number, most: number): number | undefined =>
  value >= least && value <= most ? value : undefined

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/

/**
 * A duration like `250ms`, `5s`, `2m`, `1h`, `30d`, in ms; by default at most a day, which timers can certainly wait
 * for.
 */
export const duration = ({ least = 0, most = 24 * HOUR_MS }: { least?: number; most?: number } = {}) => {
  const range = `${least > 0 ? `, at least ${least}ms` : ''}${most === 24 * HOUR_MS ? ', at most 24h' : ''}`
  const chinese = `${least > 0 ? `，至少${least}ms` : ''}${most === 24 * HOUR_MS ? '，最多24h' : ''}`
  return scalar(
    both(`时长，例如“250ms”、“5s”或“2m”${chinese}`, `a duration like "250ms", "5s" or "2m"${range}`),
    { type: 'string', pattern: DURATION.source },
    value => {
      const m = matched(DURATION, value)
      return m === null ? undefined : within(Math.round(Number(m[1]) * UNIT_MS[m[2] as string]!), least, most)
    },
  )
}

const UNIT_BYTES: Record<string, number> = { '': 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }
const SIZE = /^(\d{1,15})(B|KiB|MiB|GiB|TiB|)$/

/** A size like `64KiB` or `8MiB`, or a plain number of bytes, in bytes. `range` describes the bounds in problems. */
export const size = (least: number, most: number, range: string) =>
  scalar(`a size like "64KiB" or "8MiB", ${range}`, { type: ['string', 'integer'], pattern: SIZE.source }, value => {
    const m = matched(SIZE, typeof value === 'number' ? String(value) : value)
    return m === null ? undefined : within(Number(m[1]) * UNIT_BYTES[m[2] as string]!, least, most)
  })

const PERCENT = /^(\d{1,3}(?:\.\d{1,3})?)%$/

/** A percentage like `20%`, as a fraction from 0 to 1. */
export const percent = scalar(
  both('从“0%”到“100%”的百分比', 'a percentage from "0%" to "100%"'),
  { type: 'string', pattern: PERCENT.source },
  value => {
    const m = matched(PERCENT, value)
    return m === null ? undefined : within(Number(m[1]) / 100, 0, 1)
  },
)

/** A whole number. Digits in a text are accepted too, because a variable `${NAME}` always becomes text. */
export const whole = (least: number, most = 1_000_000_000) =>
  scalar(
    both(`从${least}到${most}的整数`, `a whole number from ${least} to ${most}`),
    { type: ['integer', 'string'], minimum: least, maximum: most, pattern: '^-?\\d+$' },
    value => {
      const number = matched(/^-?\d{1,15}$/, value) ? Number(value) : value
      return typeof number === 'number' && Number.isInteger(number) ? within(number, least, most) : undefined
    },
  )

/** The JSON Schema, for editors, of a decimal of at most six places that is not negative. */
export const AMOUNT = { type: ['number', 'string'], minimum: 0, pattern: '^\\d{1,9}(\\.\\d{1,6})?$' }

/** A decimal with at most six places, in millionths: prices, multipliers, factors. `least` is in millionths too. */
export const millionths = (what: Words, least = 0) =>
  scalar(both(`${what.zh}，最多6位小数`, `${what.en} with at most 6 decimal places`), AMOUNT, value => {
    const number = parseMillionths(value)
    return number === null ? undefined : within(number, least, Number.MAX_SAFE_INTEGER)
  })

export const cny = scalar(
  both('不小于0的人民币金额，最多6位小数', 'an amount of CNY, 0 or more, with at most 6 decimal places'),
  AMOUNT,
  (value): Micro | undefined => {
    const amount = parseMicro(value)
    return amount === null || amount < 0 ? undefined : amount
  },
)

/** The longest name, in characters, that the columns of the store hold. */
export const LONGEST_NAME = 190

/**
 * Characters that are not seen, so that two names would look alike, and those that turn the direction of what follows, so that a text is
 * shown as another one than it is.
 */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u
/** The ones among them that join pictures, or shape letters of a script that is written so. Behind an accent of any script they do neither. */
const JOINED =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}[\p{M}--\p{Script=Inherited}]\p{scx=Arabic}\p{Script=Mongolian}]|\p{Extended_Pictographic}\ufe0f)(?:[\u180b-\u180d]|[\u200c-\u200d]|\ufe0e|\ufe0f)|\ufe0f(?=\u20e3)/gv

const NAME_WORDS = both(`1到${LONGEST_NAME}个字符的名称`, `a name of 1 to ${LONGEST_NAME} characters`)
const NAME = { type: 'string', minLength: 1, maxLength: LONGEST_NAME }

/** A name that people choose, in one form of Unicode. Characters that are not seen, lone surrogates and spaces at either end are refused. */
export const name = scalar(NAME_WORDS, NAME, asName)

/** The name of a model, which is compared as it is written. */
export const modelName = scalar(NAME_WORDS, NAME, asModelName)

export function asName(value: unknown): string | undefined {
  return asModelName(typeof value === 'string' ? value.normalize('NFC') : value)
}

export function asModelName(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' &&
    text.length <= LONGEST_NAME &&
    text.isWellFormed() &&
    /^\S(?:.*\S)?$/su.test(text) &&
    !HIDDEN.test(text.replace(JOINED, ''))
    ? text
    : undefined
}

const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/
export const plainText = (expected: Expected) =>
  scalar(expected, { type: 'string' }, value => (typeof value === 'string' && value !== '' ? value : undefined))

export const flag = scalar(
  both('true或false', 'true or false'),
  { type: ['boolean', 'string'], enum: [true, false, 'true', 'false'] },
  value => (typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : undefined),
)

export const oneOf = <const T extends string>(...values: T[]) =>
  scalar(
    value => both(`以下之一：${values.join('、')}`, oneOfThese(value, values)),
    { type: 'string', enum: values },
    value => values.find(v => v === value),
  )

/**
 * A secret, which problems never show. `pattern` must allow only printable ASCII, so that the secret fits into a
 * header.
 */
export const secret = (expected: Expected, pattern: RegExp) =>
  scalar(expected, { type: 'string', pattern: pattern.source }, value => matched(pattern, value)?.[0], true)

/** An ISO 8601 time with its zone, or a date (midnight in UTC), in ms since 1970. */
export const time = scalar(
  both('时间，例如“2030-01-31T00:00:00Z”', 'a time like "2030-01-31T00:00:00Z"'),
  { type: 'string', pattern: TIME.source },
  value => {
    const m = matched(TIME, value)
    if (m === null || !isDay(m[0].slice(0, 10))) return undefined
    const ms = Date.parse(m[0])
    return Number.isNaN(ms) ? undefined : ms
  },
)

/** Whether the day exists: `Date.parse` would read the 30th of February as the 2nd of March. */
function isDay(day: string): boolean {
  const ms = Date.parse(day)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}

const ACCEPTED_ENTRY = /^[a-z][a-z_]{0,60}(?::.{1,200})?$/s

/** Names of rules of sense, which only the rules themselves know. */
export const accepted = z.array(
  scalar(
    'the name of a rule like "zero_price", or with a row as "zero_price:MODEL"',
    { type: 'string' },
    value => matched(ACCEPTED_ENTRY, value)?.[0],
  ),
)
export const ACCEPTED =
  'Rules whose findings are meant (docs/sense.md): `RULE` for all of them, `RULE:NAME` for a row of that name.'

export interface Listener {
  host: string
  port: number
}

const LISTENER = /^(?:\[([^\]]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/

/** Parses `host:port` or `[::1]:3000`; port 0 takes any free port. undefined = it is neither. */
export function parseListener(value: unknown): Listener | undefined {
  const m = matched(LISTENER, value)
  if (m === null || Number(m[3]) > 65_535) return undefined
  if (m[1] !== undefined && isIP(m[1]) !== 6) return undefined
  if (m[2] !== undefined && /^[\d.]+$/.test(m[2]) && isIP(m[2]) !== 4) return undefined
  return { host: (m[1] ?? m[2]) as string, port: Number(m[3]) }
}

export const listener = scalar(
  'an address as host:port, like "127.0.0.1:3000" or "[::1]:3000"',
  { type: 'string', pattern: LISTENER.source },
  parseListener,
)

/** An IP address or a CIDR, kept as text. */
export const network = scalar(
  { zh: 'IP地址或网段，例如“10.0.0.0/8”', en: 'an address or a CIDR, like "10.0.0.0/8"' },
  { type: 'string' },
  value => {
    const m = matched(/^([^/]+)(?:\/(\d{1,3}))?$/, value)
    const version = m === null ? 0 : isIP(m[1] as string)
    if (m === null || version === 0) return undefined
    try {
      if (m[2] !== undefined) new BlockList().addSubnet(m[1] as string, Number(m[2]), version === 6 ? 'ipv6' : 'ipv4')
      return m[0]
    } catch {
      return undefined
    }
  },
)

/** Whether a host, as the URL parser writes it, is this machine. */
export const isLoopback = (hostname: string): boolean => /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/.test(hostname)

const LONGEST_ADDRESS = 2000

/** An http(s) URL without query, fragment and credentials; slashes at its end are dropped. */
export const webAddress = scalar(
  { zh: '不带查询参数的http://或https://网址', en: 'an http:// or https:// URL without query' },
  { type: 'string', pattern: '^https?://[^?#]+$' },
  value => {
    const url = typeof value === 'string' ? URL.parse(value) : null
    if (
      url === null ||
      !/^https?:$/.test(url.protocol) ||
      /[?#]/.test(value as string) ||
      url.href.length > LONGEST_ADDRESS ||
      url.username ||
      url.password
    ) {
      return undefined
    }
    return url.href.replace(/\/+$/, '')
  },
  true, // people write keys and passwords into addresses
)

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/

export const isHeaderName = (text: string): boolean => TOKEN.test(text)

/** Headers that the gateway or the HTTP connection sets. No setting may rename, pass or set them. */
export const RESERVED = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'accept-encoding',
]

/**
 * The name of a header, in lower case. Reserved ones are refused: with a key or a client's text in a header like
 * `transfer-encoding`, one request could be read as two.
 */
export const headerName = scalar(
  'a header name that is not about the connection',
  { type: 'string', pattern: TOKEN.source, not: { enum: RESERVED } },
  value => {
    const name = matched(TOKEN, value)?.[0].toLowerCase()
    return name === undefined || RESERVED.includes(name) ? undefined : name
  },
)

export const rate = z.strictObject({
  requests: whole(0).meta({ description: 'Most requests in any window of `minutes`; 0 = unlimited.' }),
  minutes: whole(1, 43_200).prefault(1).meta({ description: 'Length of the sliding window in minutes.' }),
})

const JSON_SCHEMA = {
  anyOf: [
    AMOUNT,
    {
      type: 'object',
      properties: { amount: AMOUNT, every: { type: 'string', enum: EVERY } },
      required: ['amount', 'every'],
      additionalProperties: false,
    },
  ],
}

export const limit = scalar(
  {
    zh: '不小于0的人民币金额，最多6位小数，或{ amount, every: day | week | month }',
    en: 'an amount of CNY, 0 or more, with at most 6 decimal places, or { amount, every: day | week | month }',
  },
  JSON_SCHEMA,
  readLimit,
)

function readLimit(value: unknown): SetLimit | undefined {
  if (typeof value !== 'object' || value === null) return withAmount(value, null)
  const { amount, every: name, ...more } = value as Record<string, unknown>
  const every = EVERY.find(known => known === name)
  return every === undefined || Object.keys(more).length > 0 ? undefined : withAmount(amount, every)
}

function withAmount(value: unknown, every: SetLimit['every']): SetLimit | undefined {
  const amount = parseMicro(value)
  return amount === null || amount < 0 ? undefined : { amount, every }
}
